package main

import (
	"strings"
	"testing"
	"time"
)

func environment(pairs ...string) func(string) string {
	values := map[string]string{"HOPGAP_SUBSCRIPTION": "projects/p/subscriptions/s"}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return values[name] }
}

func TestSettingsHaveThePublishedDefaults(t *testing.T) {
	got, err := readSettings(environment())
	want := settings{
		project:        "p",
		subscription:   "projects/p/subscriptions/s",
		work:           200 * time.Millisecond,
		streams:        4,
		maxOutstanding: 1000,
		awaitPublish:   true,
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestSettingsReadEveryVariable(t *testing.T) {
	got, err := readSettings(environment("HOPGAP_NEXT_TOPIC", "projects/p/topics/t", "HOPGAP_WORK", "15us",
		"HOPGAP_STREAMS", "10", "HOPGAP_MAX_OUTSTANDING_MESSAGES", "7", "HOPGAP_PUBLISH", "fire", "HOPGAP_ARM", "eos",
		"HOPGAP_HOP", "2", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"))
	want := settings{
		project:        "p",
		subscription:   "projects/p/subscriptions/s",
		nextTopic:      "projects/p/topics/t",
		work:           15 * time.Microsecond,
		streams:        10,
		maxOutstanding: 7,
		arm:            "eos",
		hop:            "2",
		otlpProtocol:   "http/protobuf",
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestSettingsRefuseByName(t *testing.T) {
	for _, c := range []struct{ variable, value string }{
		{"HOPGAP_SUBSCRIPTION", ""},
		{"HOPGAP_SUBSCRIPTION", "s"},
		{"HOPGAP_SUBSCRIPTION", "projects/p/topics/s"},
		{"HOPGAP_NEXT_TOPIC", "projects/p/topics/"},
		{"HOPGAP_WORK", "200"},
		{"HOPGAP_WORK", "-1ms"},
		{"HOPGAP_STREAMS", "0"},
		{"HOPGAP_STREAMS", "101"},
		{"HOPGAP_MAX_OUTSTANDING_MESSAGES", "1000001"},
		{"HOPGAP_PUBLISH", "never"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"},
	} {
		_, err := readSettings(environment("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317", c.variable, c.value))
		if err == nil || !strings.HasPrefix(err.Error(), c.variable+":") {
			t.Errorf("%s=%q: got the error %v, want one that names the variable", c.variable, c.value, err)
		}
	}
}

func TestDrawMovesToTheNextHop(t *testing.T) {
	for _, c := range []struct{ draw, want string }{
		{"1.0", "2.0"}, {"9.123456", "10.123456"}, {"", ""}, {"x.1", "x.1"}, {"1", "1"}, {"-1.5", "-1.5"},
	} {
		if got := nextDraw(c.draw); got != c.want {
			t.Errorf("after %q comes %q, want %q", c.draw, got, c.want)
		}
	}
}
