import com.google.api.core.ApiFuture;
import com.google.api.core.ApiService;
import com.google.api.gax.batching.FlowControlSettings;
import com.google.api.gax.core.InstantiatingExecutorProvider;
import com.google.api.gax.grpc.GrpcCallContext;
import com.google.api.gax.rpc.ApiException;
import com.google.api.gax.rpc.StatusCode.Code;
import com.google.cloud.pubsub.v1.AckReplyConsumerWithResponse;
import com.google.cloud.pubsub.v1.AckResponse;
import com.google.cloud.pubsub.v1.MessageReceiverWithAckResponse;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.cloud.pubsub.v1.SubscriberShutdownSettings;
import com.google.cloud.pubsub.v1.SubscriberShutdownSettings.ShutdownMode;
import com.google.cloud.pubsub.v1.SubscriptionAdminClient;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.pubsub.v1.GetSubscriptionRequest;
import com.google.pubsub.v1.PubsubMessage;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import sun.misc.Signal;

/** One hop of a chain, written with the official Java client. It keeps docs/worker-contract.md. */
final class Worker {
  private static final Logger LOG = Logger.getLogger("worker");
  private static final String DRAW_ATTRIBUTE = "hopgap_draw"; // from which hopgap draws the delays it adds: "HOP.SLOT"
  private static final Duration DRAIN_LIMIT = Duration.ofSeconds(25); // the contract gives 30 s; the spans get the rest
  private static final Duration ANSWER_LIMIT = Duration.ofSeconds(2);
  private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(5);
  private static final long RETRY_PAUSE_MS = 250;
  // The library runs callbacks on 5 threads a stream, where others have no such bound.
  private static final int THREADS_PER_STREAM = 100;

  private final Settings settings;
  private final Publisher publisher; // null at the last hop
  private final Tracer tracer;
  private final Set<ApiFuture<AckResponse>> unanswered = ConcurrentHashMap.newKeySet();

  private Worker(Settings settings, Publisher publisher, Tracer tracer) {
    this.settings = settings;
    this.publisher = publisher;
    this.tracer = tracer;
  }

  /** One handler: work, publish on, ack. */
  private void handle(PubsubMessage message, AckReplyConsumerWithResponse reply) {
    Context process = Tracing.process();
    Span span = tracer.spanBuilder("worker.stage" + settings.hop() + ".process").setParent(process).startSpan();
    pause(settings.work().toNanos());
    span.end();
    boolean published;
    try (Scope inside = process.makeCurrent()) {
      published = publisher == null || publishOn(message);
    }
    ApiFuture<AckResponse> answer = published ? reply.ack() : reply.nack();
    unanswered.add(answer);
    answer.addListener(() -> unanswered.remove(answer), MoreExecutors.directExecutor());
  }

  /** Whether the message may be acked. */
  private boolean publishOn(PubsubMessage message) {
    ApiFuture<String> result = publisher.publish(onward(message));
    if (!settings.awaitPublish()) {
      result.addListener(() -> sayIfLost(result), MoreExecutors.directExecutor());
      return true;
    }
    try {
      result.get();
      return true;
    } catch (ExecutionException | InterruptedException error) {
      LOG.severe("publish failed, so the message " + message.getMessageId() + " is nacked: " + error.getMessage());
      return false;
    }
  }

  // fire gives no other answer.
  private static void sayIfLost(ApiFuture<String> result) {
    try {
      result.get();
    } catch (ExecutionException | InterruptedException error) {
      LOG.severe("publish failed after the ack; the message is lost: " + error.getMessage());
    }
  }

  // googclient_ attributes are those of the message that came; the library writes those of the new create span.
  private static PubsubMessage onward(PubsubMessage message) {
    Map<String, String> attributes =
        message.getAttributesMap().entrySet().stream()
            .filter(entry -> !entry.getKey().startsWith("googclient_"))
            .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    attributes.computeIfPresent(DRAW_ATTRIBUTE, (key, draw) -> Settings.nextDraw(draw));
    return PubsubMessage.newBuilder().setData(message.getData()).putAllAttributes(attributes).build();
  }

  /**
   * Returns once the broker answers; throws when its answer is that the subscription is not there. A role that may
   * consume but not look is an answer too.
   */
  private static void awaitBroker(String subscription, CountDownLatch stopped) throws Exception {
    boolean told = false;
    try (SubscriptionAdminClient client = Connection.subscriptions()) {
      while (stopped.getCount() > 0) {
        try {
          client
              .getSubscriptionCallable()
              .call(
                  GetSubscriptionRequest.newBuilder().setSubscription(subscription).build(),
                  GrpcCallContext.createDefault().withTimeoutDuration(PROBE_TIMEOUT).withRetryableCodes(Set.of()));
          return;
        } catch (ApiException error) {
          Code code = error.getStatusCode().getCode();
          if (code == Code.PERMISSION_DENIED) {
            return;
          }
          if (code != Code.UNAVAILABLE && code != Code.DEADLINE_EXCEEDED) {
            throw error;
          }
          if (!told) {
            LOG.warning("the broker does not answer yet; trying on: " + error.getMessage());
          }
          told = true;
        }
        pause(TimeUnit.MILLISECONDS.toNanos(RETRY_PAUSE_MS));
      }
    }
  }

  /** Works the subscription until stopped, then drains: what runs ends, its acks leave, what waits is nacked. */
  private static void receive(Settings settings, Worker worker, OpenTelemetrySdk telemetry, CountDownLatch stopped)
      throws Exception {
    Subscriber subscriber =
        Connection.to(Subscriber.newBuilder(settings.subscription(), (MessageReceiverWithAckResponse) worker::handle))
            .setParallelPullCount(settings.streams())
            .setFlowControlSettings(
                Subscriber.Builder.getDefaultFlowControlSettings().toBuilder()
                    .setMaxOutstandingElementCount((long) settings.maxOutstanding())
                    .build())
            .setExecutorProvider(
                InstantiatingExecutorProvider.newBuilder()
                    .setExecutorThreadCount(
                        Math.min(settings.maxOutstanding(), settings.streams() * THREADS_PER_STREAM))
                    .build())
            .setSubscriberShutdownSettings(
                SubscriberShutdownSettings.newBuilder()
                    .setMode(ShutdownMode.WAIT_FOR_PROCESSING)
                    .setTimeout(DRAIN_LIMIT)
                    .build())
            .setEnableOpenTelemetryTracing(true)
            .setOpenTelemetry(telemetry)
            .build();
    subscriber.addListener(
        new ApiService.Listener() {
          @Override
          public void failed(ApiService.State from, Throwable failure) {
            LOG.severe("receive: " + failure.getMessage());
            stopped.countDown();
          }
        },
        MoreExecutors.directExecutor());
    subscriber.startAsync().awaitRunning();
    LOG.info("receiving " + settings.subscription() + ", streams " + settings.streams());
    stopped.await();
    LOG.info("draining");
    subscriber.stopAsync().awaitTerminated(DRAIN_LIMIT.toSeconds(), TimeUnit.SECONDS);
    LOG.info("stopped, acks without an answer: " + worker.unanswered.size());
    worker.awaitAnswers();
  }

  // The library is terminated before its last exactly-once acks have their answers; their subscribe spans end with them.
  private void awaitAnswers() {
    for (long end = System.nanoTime() + ANSWER_LIMIT.toNanos(); !unanswered.isEmpty() && System.nanoTime() < end; ) {
      pause(TimeUnit.MILLISECONDS.toNanos(10));
    }
  }

  private static Publisher publisher(Settings settings, OpenTelemetrySdk telemetry) throws Exception {
    if (settings.nextTopic().isEmpty()) {
      return null;
    }
    return Connection.to(Publisher.newBuilder(settings.nextTopic()))
        .setEnableOpenTelemetryTracing(true)
        .setOpenTelemetry(telemetry)
        .build();
  }

  private static void pause(long nanos) {
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private static void run() throws Exception {
    Settings settings = Settings.read(System::getenv);
    CountDownLatch stopped = new CountDownLatch(1);
    // A shutdown hook could not choose the exit code.
    for (String name : new String[] {"TERM", "INT"}) {
      Signal.handle(new Signal(name), signal -> stopped.countDown());
    }
    try (OpenTelemetrySdk telemetry = Tracing.start(settings.otlpProtocol())) {
      awaitBroker(settings.subscription(), stopped);
      Publisher publisher = publisher(settings, telemetry);
      Worker worker = new Worker(settings, publisher, telemetry.getTracer("hopgap/interop/java/worker"));
      if (stopped.getCount() > 0) {
        receive(settings, worker, telemetry, stopped);
      }
      if (publisher != null) {
        publisher.shutdown(); // sends what fire left behind
        publisher.awaitTermination(DRAIN_LIMIT.toSeconds(), TimeUnit.SECONDS);
      }
    }
  }

  public static void main(String[] arguments) {
    try {
      run();
    } catch (Throwable error) {
      LOG.severe("worker failed: " + error);
      System.exit(1);
    }
    System.exit(0);
  }
}
