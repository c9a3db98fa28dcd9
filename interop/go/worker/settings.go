package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The limits of hopgap worker's flags of the same names.
const (
	maxStreams     = 100
	maxOutstanding = 1_000_000
)

// settings are the variables of docs/worker-contract.md, checked.
type settings struct {
	project        string // of the subscription
	subscription   string // full name
	nextTopic      string // full name; empty at the last hop
	work           time.Duration
	streams        int
	maxOutstanding int
	awaitPublish   bool
	arm            string
	hop            string
	otlpProtocol   string // grpc or http/protobuf; empty: spans go nowhere
}

// readSettings reads the environment through getenv. Its error names the
// variable, its value and what is allowed.
func readSettings(getenv func(string) string) (settings, error) {
	s := settings{
		subscription: getenv("HOPGAP_SUBSCRIPTION"),
		nextTopic:    getenv("HOPGAP_NEXT_TOPIC"),
		arm:          getenv("HOPGAP_ARM"),
		hop:          getenv("HOPGAP_HOP"),
	}
	var err error
	if s.project, err = projectOf("HOPGAP_SUBSCRIPTION", s.subscription, "subscriptions"); err != nil {
		return s, err
	}
	if s.nextTopic != "" {
		if _, err = projectOf("HOPGAP_NEXT_TOPIC", s.nextTopic, "topics"); err != nil {
			return s, err
		}
	}
	if s.work, err = duration("HOPGAP_WORK", getenv, 200*time.Millisecond); err != nil {
		return s, err
	}
	if s.streams, err = count("HOPGAP_STREAMS", getenv, 4, maxStreams); err != nil {
		return s, err
	}
	if s.maxOutstanding, err = count("HOPGAP_MAX_OUTSTANDING_MESSAGES", getenv, 1000, maxOutstanding); err != nil {
		return s, err
	}
	switch publish := getenv("HOPGAP_PUBLISH"); publish {
	case "", "await":
		s.awaitPublish = true
	case "fire":
	default:
		return s, fmt.Errorf("HOPGAP_PUBLISH: %q is neither await nor fire", publish)
	}
	s.otlpProtocol, err = otlpProtocol(getenv)
	return s, err
}

// projectOf returns P of projects/P/KIND/ID.
func projectOf(variable, name, kind string) (string, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[0] != "projects" || parts[1] == "" || parts[2] != kind || parts[3] == "" {
		return "", fmt.Errorf("%s: %q is not projects/PROJECT/%s/ID", variable, name, kind)
	}
	return parts[1], nil
}

func duration(variable string, getenv func(string) string, otherwise time.Duration) (time.Duration, error) {
	text := getenv(variable)
	if text == "" {
		return otherwise, nil
	}
	length, err := time.ParseDuration(text)
	if err != nil || length < 0 {
		return 0, fmt.Errorf("%s: %q is not 0 or a number with ns, us, ms, s, m or h", variable, text)
	}
	return length, nil
}

func count(variable string, getenv func(string) string, otherwise, limit int) (int, error) {
	text := getenv(variable)
	if text == "" {
		return otherwise, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 || number > limit {
		return 0, fmt.Errorf("%s: %q is not a whole number in [1, %d]", variable, text, limit)
	}
	return number, nil
}

// otlpProtocol says how spans leave: the traces' own variables win over the
// general ones, as the OTLP exporter specification has it.
func otlpProtocol(getenv func(string) string) (string, error) {
	if getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return "", nil
	}
	variable := "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	if getenv(variable) == "" {
		variable = "OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	switch protocol := getenv(variable); protocol {
	case "", "grpc": // the published experiment's
		return "grpc", nil
	case "http/protobuf":
		return protocol, nil
	default:
		return "", fmt.Errorf("%s: %q is neither grpc nor http/protobuf", variable, protocol)
	}
}
