package sink

import (
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

func TestJSONLineHasHexIdsAndNumbersForEnums(t *testing.T) {
	line, err := JSONLine(&collector.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
		ScopeSpans: []*trace.ScopeSpans{{Spans: []*trace.Span{{
			TraceId:      []byte{0xab, 0xcd},
			SpanId:       []byte{1},
			ParentSpanId: []byte{2},
			Kind:         trace.Span_SPAN_KIND_CONSUMER,
			Links:        []*trace.Span_Link{{TraceId: []byte{3}, SpanId: []byte{4}}},
			// An attribute of such a name is somebody's text, not an id.
			Attributes: []*common.KeyValue{{Key: "traceId", Value: &common.AnyValue{
				Value: &common.AnyValue_StringValue{StringValue: "q80="}}}},
		}}}},
	}}})
	want := `{"resourceSpans":[{"scopeSpans":[{"spans":[{` +
		`"attributes":[{"key":"traceId","value":{"stringValue":"q80="}}],` +
		`"kind":5,"links":[{"spanId":"04","traceId":"03"}],` +
		`"parentSpanId":"02","spanId":"01","traceId":"abcd"}]}]}]}` + "\n"
	if err != nil || string(line) != want {
		t.Errorf("got %s, %v; want %s", line, err, want)
	}
}
