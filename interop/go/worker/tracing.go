package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// startTracing installs the global tracer provider: every trace sampled, spans
// batched to the endpoint of the OTEL_ variables. With no protocol they go
// nowhere, but messages carry their trace all the same. The result sends what
// is still queued.
func startTracing(protocol string) (flush func() error, err error) {
	options := []sdk.TracerProviderOption{sdk.WithSampler(sdk.AlwaysSample())}
	var exporter sdk.SpanExporter
	switch protocol {
	case "grpc":
		exporter, err = otlptracegrpc.New(context.Background())
	case "http/protobuf":
		exporter, err = otlptracehttp.New(context.Background())
	}
	if err != nil {
		return nil, fmt.Errorf("OTLP exporter: %w", err)
	}
	if exporter != nil {
		options = append(options, sdk.WithBatcher(exporter))
	}
	provider := sdk.NewTracerProvider(options...)
	otel.SetTracerProvider(provider)
	return func() error {
		limit, cancel := context.WithTimeout(context.Background(), flushLimit)
		defer cancel()
		if err := provider.Shutdown(limit); err != nil {
			return fmt.Errorf("spans: %w", err)
		}
		return nil
	}, nil
}
