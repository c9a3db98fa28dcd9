// Command convert turns OTLP JSON lines into the JSON of Zipkin v2 and of Jaeger's
// query API, with the Collector's own translators and Jaeger's own converter, so
// that our readers are judged by files that others' code wrote.
//
//	convert zipkin|jaeger < spans.otlp.jsonl > out.json
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/jaegertracing/jaeger/model"
	jsonconv "github.com/jaegertracing/jaeger/model/converter/json"
	jsonmodel "github.com/jaegertracing/jaeger/model/json"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/translator/jaeger"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/translator/zipkin/zipkinv2"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func read(from io.Reader) (ptrace.Traces, error) {
	all := ptrace.NewTraces()
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			some, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
			if err != nil {
				return all, err
			}
			some.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func zipkin(traces ptrace.Traces) (any, error) {
	return zipkinv2.FromTranslator{}.FromTraces(traces)
}

func toJaeger(traces ptrace.Traces) (any, error) {
	byTrace := map[model.TraceID]*model.Trace{}
	var order []model.TraceID
	for _, batch := range jaeger.ProtoFromTraces(traces) {
		for _, span := range batch.Spans {
			if span.Process == nil {
				span.Process = batch.Process
			}
			trace := byTrace[span.TraceID]
			if trace == nil {
				trace = &model.Trace{}
				byTrace[span.TraceID] = trace
				order = append(order, span.TraceID)
			}
			trace.Spans = append(trace.Spans, span)
		}
	}
	var data []*jsonmodel.Trace
	for _, id := range order {
		data = append(data, jsonconv.FromDomain(byTrace[id]))
	}
	return map[string]any{"data": data, "total": 0, "limit": 0, "offset": 0, "errors": nil}, nil
}

func main() {
	forms := map[string]func(ptrace.Traces) (any, error){"zipkin": zipkin, "jaeger": toJaeger}
	if len(os.Args) != 2 || forms[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: convert zipkin|jaeger < spans.otlp.jsonl")
		os.Exit(2)
	}
	traces, err := read(os.Stdin)
	if err == nil {
		var document any
		if document, err = forms[os.Args[1]](traces); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(document)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
