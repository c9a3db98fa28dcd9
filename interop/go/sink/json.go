package sink

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// JSONLine is the request as a line of OTLP JSON. protojson alone is not that:
// it writes ids in base64, where OTLP wants hex.
func JSONLine(request *collector.ExportTraceServiceRequest) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(request)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	idsToHex(value)
	line, err := json.Marshal(value)
	return append(line, '\n'), err
}

func idsToHex(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			idsToHex(element)
		}
	case map[string]any:
		for key, member := range value {
			text, isText := member.(string)
			if isText && (key == "traceId" || key == "spanId" || key == "parentSpanId") {
				if id, err := base64.StdEncoding.DecodeString(text); err == nil {
					value[key] = hex.EncodeToString(id)
				}
			}
			idsToHex(member)
		}
	}
}
