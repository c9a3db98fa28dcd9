import com.google.api.core.ApiFuture;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Publishes a chain's first messages with the official Java client: HOPGAP_MESSAGES of them, HOPGAP_RATE a second. */
final class Sender {
  private Sender() {}

  public static void main(String[] arguments) throws Exception {
    String topic = System.getenv("HOPGAP_NEXT_TOPIC");
    int messages = Integer.parseInt(System.getenv("HOPGAP_MESSAGES"));
    double rate = Double.parseDouble(System.getenv("HOPGAP_RATE"));
    String protocol = Settings.otlpProtocol(name -> System.getenv().getOrDefault(name, ""));
    try (OpenTelemetrySdk telemetry = Tracing.start(protocol)) {
      Publisher publisher =
          Connection.to(Publisher.newBuilder(topic))
              .setEnableOpenTelemetryTracing(true)
              .setOpenTelemetry(telemetry)
              .build();
      long start = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(100);
      List<ApiFuture<String>> results = new ArrayList<>();
      for (int slot = 0; slot < messages; ++slot) {
        TimeUnit.NANOSECONDS.sleep(start + Math.round(slot / rate * 1e9) - System.nanoTime());
        results.add(
            publisher.publish(
                PubsubMessage.newBuilder()
                    .setData(ByteString.copyFromUtf8("hello"))
                    .putAttributes("hopgap_draw", "1." + slot)
                    .build()));
      }
      for (ApiFuture<String> result : results) {
        result.get();
      }
      publisher.shutdown();
      publisher.awaitTermination(10, TimeUnit.SECONDS);
    }
    System.exit(0);
  }
}
