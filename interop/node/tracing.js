'use strict';
// The global tracer provider of a program here.
const { Resource, envDetectorSync } = require('@opentelemetry/resources');
const { AlwaysOnSampler, BatchSpanProcessor, NodeTracerProvider } = require('@opentelemetry/sdk-trace-node');

// Every trace sampled, spans batched to the endpoint of the OTEL_ variables. With no protocol they go nowhere, but
// messages carry their trace all the same. The result sends what is queued.
function startTracing(protocol) {
  const spanProcessors = [];
  if (protocol) {
    const { OTLPTraceExporter } = require(
      protocol === 'grpc' ? '@opentelemetry/exporter-trace-otlp-grpc' : '@opentelemetry/exporter-trace-otlp-proto');
    spanProcessors.push(new BatchSpanProcessor(new OTLPTraceExporter()));
  }
  // Of the variables only the processor's are read without being asked for.
  const resource = Resource.default().merge(envDetectorSync.detect());
  const provider = new NodeTracerProvider({ resource, sampler: new AlwaysOnSampler(), spanProcessors });
  provider.register();
  return () => provider.shutdown();
}

module.exports = { startTracing };
