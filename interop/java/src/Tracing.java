import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import java.util.HashMap;
import java.util.Map;

/** Spans of a program here, and the process span of the handler that runs. */
final class Tracing {
  private Tracing() {}

  /**
   * Every trace sampled, spans batched to the endpoint of the OTEL_ variables. With no protocol they go nowhere, but
   * messages carry their trace all the same. close() sends what is queued.
   */
  static OpenTelemetrySdk start(String protocol) {
    Map<String, String> settings = new HashMap<>();
    settings.put("otel.traces.exporter", protocol.isEmpty() ? "none" : "otlp");
    settings.put("otel.metrics.exporter", "none");
    settings.put("otel.logs.exporter", "none");
    settings.put("otel.traces.sampler", "always_on");
    if (!protocol.isEmpty()) {
      settings.put("otel.exporter.otlp.traces.protocol", protocol);
    }
    return AutoConfiguredOpenTelemetrySdk.builder()
        .addPropertiesCustomizer(configuration -> settings)
        .addTracerProviderCustomizer((provider, configuration) -> provider.addSpanProcessor(new Handlers()))
        .disableShutdownHook()
        .build()
        .getOpenTelemetrySdk();
  }

  /** The process span that the library opened on this thread right before it called the receiver. */
  static Context process() {
    return Context.root().with(Handlers.PROCESS.get());
  }

  // The library does not make the process span current, and offers no way to it; but it begins it on the thread of the
  // handler, where a span processor sees it.
  private static final class Handlers implements SpanProcessor {
    static final ThreadLocal<Span> PROCESS = new ThreadLocal<>();

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {
      if (span.getName().endsWith(" process")) {
        PROCESS.set(span);
      }
    }

    @Override
    public boolean isStartRequired() {
      return true;
    }

    @Override
    public void onEnd(ReadableSpan span) {}

    @Override
    public boolean isEndRequired() {
      return false;
    }
  }
}
