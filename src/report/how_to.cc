#include "report/how_to.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace hopgap::report {
namespace {

struct HowTo {
  std::string_view client, title, enable, expect;
};

constexpr HowTo kHowTos[] = {
    {"go", "Go, cloud.google.com/go/pubsub (v1 and v2)",
     R"(  1. Make a tracer provider with an exporter and make it the global one:
       otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)))
  2. pubsub.NewClientWithConfig(ctx, project,
         &pubsub.ClientConfig{EnableOpenTelemetryTracing: true})
  3. In a handler publish with the context that the handler was given, or the
     chain breaks there.
)",
     R"(  TOPIC create > publisher flow control, publisher batching
  SUB subscribe > subscriber concurrency control, subscribe scheduler, SUB process
  TOPIC publish, SUB modack, SUB ack: roots of their own, joined by links
  The receipt modack, batch sizes and acks are events of the message's spans.
)"},
    {"java", "Java, google-cloud-pubsub",
     R"(  1. OpenTelemetry openTelemetry = AutoConfiguredOpenTelemetrySdk.initialize()
         .getOpenTelemetrySdk();
  2. Publisher.newBuilder(topic).setEnableOpenTelemetryTracing(true)
         .setOpenTelemetry(openTelemetry)
     and the same on Subscriber.newBuilder(...).
  3. In a receiver make the message's context current before you publish.
)",
     R"(  TOPIC create > publisher flow control, publisher batching
  SUB subscribe > subscriber concurrency control, SUB process
  TOPIC publish, SUB modack, SUB ack: client spans with links
  Receipts are sent by a job every 100 ms; events need the RPC span to be sampled.
)"},
    {"python", "Python, google-cloud-pubsub",
     R"(  1. trace.set_tracer_provider(TracerProvider()) with a BatchSpanProcessor.
  2. PublisherClient(publisher_options=PublisherOptions(
         enable_open_telemetry_tracing=True))
     SubscriberClient(subscriber_options=SubscriberOptions(
         enable_open_telemetry_tracing=True))
  3. A callback runs in a thread of its own: publish inside its context.
)",
     R"(  TOPIC create > publisher flow control, publisher batching
  SUB subscribe > subscriber concurrency control, subscriber scheduler, SUB process
  TOPIC publish, SUB modack, SUB ack: client spans with links
  "publish start" is noted when the publish is called: hopgap takes the RPC span.
)"},
    {"node", "Node.js, @google-cloud/pubsub",
     R"(  1. Register a NodeTracerProvider with a BatchSpanProcessor before the client.
  2. new PubSub({enableOpenTelemetryTracing: true})
  3. Publish inside context.with() of the message's span.
)",
     R"(  TOPIC create > publisher flow control, publisher batching
  SUB subscribe > subscriber concurrency control, SUB process
  FULL-TOPIC send, SUB modack, SUB ack: with links
  "modack start" and "ack start" are noted when they are queued, up to 100 ms
  before the call: with the RPC spans hopgap tells the two apart.
)"},
};

}  // namespace

std::string HowToText(std::string_view client) {
  const auto* found =
      std::find_if(std::begin(kHowTos), std::end(kHowTos), [client](const HowTo& one) { return one.client == client; });
  if (found == std::end(kHowTos)) return "";
  return StrCat(found->title, "\n\nSwitch it on\n", found->enable, "\nSpans to expect (a > b: b is a child of a)\n",
                found->expect,
                R"(
Sampling
  Sample all of it while you look (AlwaysOn). A ratio keeps or drops whole
  chains, but RPC spans are roots and are drawn apart: with less than 1 their
  links dangle, and batch sizes and waits are then those of events alone.

Out of your tracing system, into hopgap
  a collector       exporters: file, format json  ->  hopgap analyze FILE
  hopgap itself     hopgap collect --out traces   ->  hopgap analyze traces
  Jaeger            the trace page, "Download Results"
  Tempo             curl TEMPO/api/traces/TRACE_ID > trace.json
  Cloud Trace       hopgap analyze cloudtrace:PROJECT --since 1h
  BigQuery          rows of _Trace.Spans._AllSpans as JSON lines
  ClickHouse        SELECT * FROM otel_traces FORMAT JSONEachRow
)");
}

}  // namespace hopgap::report
