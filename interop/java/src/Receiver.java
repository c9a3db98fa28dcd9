import com.google.api.core.ApiFuture;
import com.google.api.core.ApiService;
import com.google.cloud.pubsub.v1.AckReplyConsumerWithResponse;
import com.google.cloud.pubsub.v1.AckResponse;
import com.google.cloud.pubsub.v1.MessageReceiverWithAckResponse;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.pubsub.v1.PubsubMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** A subscriber with the library's defaults unless settings change them; keeps what came. */
final class Receiver implements AutoCloseable {
  static final int SOON_S = 60;

  /** A message and the way to answer it. */
  record Came(PubsubMessage message, AckReplyConsumerWithResponse reply) {
    String text() {
      return message.getData().toStringUtf8();
    }

    /** What the library says of an ack. */
    String ackStatus() {
      return statusOf(reply.ack());
    }

    void ack() {
      reply.ack();
    }
  }

  private final List<Came> came = new ArrayList<>();
  private final Subscriber subscriber;
  final CompletableFuture<Throwable> failed = new CompletableFuture<>();

  Receiver(String subscription, Consumer<Came> handler, UnaryOperator<Subscriber.Builder> settings) {
    MessageReceiverWithAckResponse take =
        (message, reply) -> {
          Came one = new Came(message, reply);
          synchronized (came) {
            came.add(one);
          }
          handler.accept(one);
        };
    subscriber = settings.apply(Connection.to(Subscriber.newBuilder(subscription, take))).build();
    subscriber.addListener(
        new ApiService.Listener() {
          @Override
          public void failed(ApiService.State from, Throwable failure) {
            failed.complete(failure);
          }
        },
        MoreExecutors.directExecutor());
    subscriber.startAsync().awaitRunning();
  }

  Receiver(String subscription, Consumer<Came> handler) {
    this(subscription, handler, builder -> builder);
  }

  static void hold(Came message) {}

  List<Came> all() {
    synchronized (came) {
      return List.copyOf(came);
    }
  }

  List<String> texts() {
    return all().stream().map(Came::text).toList();
  }

  void await(int count) {
    await(() -> all().size() >= count, count + " messages");
  }

  static void await(BooleanSupplier holds, String what) {
    await(holds, what, SOON_S);
  }

  static void await(BooleanSupplier holds, String what, int limitS) {
    for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(limitS); !holds.getAsBoolean(); sleep(0.02)) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException(what + ": not within " + limitS + " s");
      }
    }
  }

  static void sleep(double seconds) {
    try {
      TimeUnit.NANOSECONDS.sleep(Math.round(seconds * 1e9));
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  static String statusOf(ApiFuture<AckResponse> answer) {
    try {
      AckResponse response = answer.get(SOON_S, TimeUnit.SECONDS);
      return switch (response) {
        case SUCCESSFUL -> "success";
        case INVALID -> "invalid ack id";
        default -> response.name();
      };
    } catch (java.util.concurrent.TimeoutException error) {
      return "no answer within " + SOON_S + " s";
    } catch (Exception error) {
      return error.toString();
    }
  }

  @Override
  public void close() {
    try {
      subscriber.stopAsync().awaitTerminated(5, TimeUnit.SECONDS);
    } catch (java.util.concurrent.TimeoutException | IllegalStateException error) {
      // Held messages keep it waiting; or it has failed, which `failed` tells.
    }
  }
}
