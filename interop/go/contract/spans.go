package main

import (
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"hopgap/interop/go/sink"
)

// spanBook keeps what the workers send, by trace id.
type spanBook struct {
	endpoint string

	lock   sync.Mutex
	traces map[string][]sentSpan
}

type sentSpan struct {
	service, name, id, parent string
}

func openSpanBook() (*spanBook, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	book := &spanBook{endpoint: "http://" + listener.Addr().String(), traces: map[string][]sentSpan{}}
	sink.Serve(listener, book.take)
	return book, nil
}

func (b *spanBook) take(request *collector.ExportTraceServiceRequest) error {
	b.lock.Lock()
	defer b.lock.Unlock()
	for _, resource := range request.ResourceSpans {
		service := textOf(resource.GetResource().GetAttributes(), "service.name")
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				b.add(service, span)
			}
		}
	}
	return nil
}

func (b *spanBook) add(service string, span *tracepb.Span) {
	id := hex.EncodeToString(span.TraceId)
	b.traces[id] = append(b.traces[id],
		sentSpan{service, span.Name, hex.EncodeToString(span.SpanId), hex.EncodeToString(span.ParentSpanId)})
}

func textOf(attributes []*common.KeyValue, key string) string {
	for _, attribute := range attributes {
		if attribute.Key == key {
			return attribute.Value.GetStringValue()
		}
	}
	return ""
}

// child is the one span of the trace with this parent whose name ends so.
func (b *spanBook) child(trace, parent, suffix string) (sentSpan, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	var found []sentSpan
	var names []string
	for _, span := range b.traces[trace] {
		names = append(names, span.name)
		if span.parent == parent && strings.HasSuffix(span.name, suffix) {
			found = append(found, span)
		}
	}
	if len(found) != 1 {
		return sentSpan{}, fmt.Errorf("trace %s: %d spans %q below %s, want 1; its spans are %q", trace, len(found), suffix, parent, names)
	}
	return found[0], nil
}

// await returns once the trace has a span whose name ends so.
func (b *spanBook) await(trace, suffix string, limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if b.has(trace, suffix) {
			return nil
		}
	}
	return fmt.Errorf("trace %s has no span %q after %v", trace, suffix, limit)
}

func (b *spanBook) has(trace, suffix string) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	return slices.ContainsFunc(b.traces[trace], func(span sentSpan) bool { return strings.HasSuffix(span.name, suffix) })
}
