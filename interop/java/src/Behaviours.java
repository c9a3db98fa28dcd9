import com.google.api.core.ApiFuture;
import com.google.api.gax.rpc.ApiException;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.cloud.pubsub.v1.SubscriptionAdminClient;
import com.google.cloud.pubsub.v1.TopicAdminClient;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import com.google.protobuf.FieldMask;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Subscription;
import com.google.pubsub.v1.UpdateSubscriptionRequest;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * The behaviours of interop/behaviours/behaviours.toml, with the official Java client.
 *
 * <p>Behaviours ID… prints a line of JSON per behaviour: client, version, behaviour, result, evidence.
 */
final class Behaviours {
  static final String PROJECT = "java";
  static final int LEASE_S = 10; // the shortest that a client can ask for
  private static final int AT_ONCE = 8;

  /** A result in a few words, and what was seen. */
  record Seen(String result, String evidence) {}

  interface Behaviour {
    Seen show(String name) throws Exception;
  }

  /** Carries the broker's or the runner's reason. */
  static final class NotServed extends RuntimeException {
    NotServed(String why) {
      super(why);
    }
  }

  static TopicAdminClient topics;
  static SubscriptionAdminClient subscriptions;

  private Behaviours() {}

  static String topic(String name) {
    return "projects/" + PROJECT + "/topics/" + name;
  }

  static String subscription(String name) {
    return "projects/" + PROJECT + "/subscriptions/" + name + "-sub";
  }

  /** A topic and its subscription. */
  static void make(String name, Subscription.Builder fields) {
    topics.createTopic(topic(name));
    subscriptions.createSubscription(
        fields.setName(subscription(name)).setTopic(topic(name)).setAckDeadlineSeconds(LEASE_S).build());
  }

  static void make(String name) {
    make(name, Subscription.newBuilder());
  }

  static void makeExactlyOnce(String name) {
    make(name, Subscription.newBuilder().setEnableExactlyOnceDelivery(true));
  }

  static PubsubMessage message(String text, Map<String, String> attributes, String key) {
    return PubsubMessage.newBuilder()
        .setData(ByteString.copyFromUtf8(text))
        .putAllAttributes(attributes)
        .setOrderingKey(key)
        .build();
  }

  static void publish(String name, List<PubsubMessage> messages) throws Exception {
    Publisher publisher = Connection.to(Publisher.newBuilder(topic(name))).setEnableMessageOrdering(true).build();
    List<ApiFuture<String>> results = new ArrayList<>();
    for (PubsubMessage message : messages) {
      results.add(publisher.publish(message));
    }
    for (ApiFuture<String> result : results) {
      result.get(Receiver.SOON_S, TimeUnit.SECONDS);
    }
    publisher.shutdown();
  }

  static void publish(String name, String... texts) throws Exception {
    publish(name, Arrays.stream(texts).map(text -> message(text, Map.of(), "")).toList());
  }

  static String[] texts(String letter, int count) {
    return IntStream.range(0, count).mapToObj(i -> letter + i).toArray(String[]::new);
  }

  static Subscription update(String name, Subscription.Builder fields, String... paths) {
    return subscriptions.updateSubscription(
        UpdateSubscriptionRequest.newBuilder()
            .setSubscription(fields.setName(subscription(name)))
            .setUpdateMask(FieldMask.newBuilder().addAllPaths(List.of(paths)))
            .build());
  }

  /** Asks who runs us for something that a client cannot do, such as a restart of the broker. */
  static void control(String path, String want) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(System.getenv("HOPGAP_CONTROL") + path))
            .POST(HttpRequest.BodyPublishers.noBody())
            .build();
    String answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
    if (!answer.equals(want)) {
      throw new NotServed(answer);
    }
  }

  static String codeOf(Throwable error) {
    Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
    return cause instanceof ApiException known
        ? known.getStatusCode().getCode().name()
        : cause.getClass().getSimpleName();
  }

  private static void run(String name, String version) {
    Seen seen;
    try {
      seen = Delivery.BEHAVIOURS.containsKey(name)
          ? Delivery.BEHAVIOURS.get(name).show(name)
          : Admin.BEHAVIOURS.get(name).show(name);
    } catch (NotServed error) {
      seen = new Seen("not served", error.getMessage());
    } catch (Exception error) {
      String code = codeOf(error);
      seen = new Seen(code.equals("UNIMPLEMENTED") ? "not served" : code, String.valueOf(error.getMessage()));
    }
    JsonObject line = new JsonObject();
    line.addProperty("client", "java");
    line.addProperty("version", version);
    line.addProperty("behaviour", name);
    line.addProperty("result", seen.result());
    line.addProperty("evidence", seen.evidence());
    System.out.println(line);
  }

  public static void main(String[] names) throws Exception {
    topics = Connection.topics();
    subscriptions = Connection.subscriptions();
    String version = com.google.api.gax.core.GaxProperties.getLibraryVersion(TopicAdminClient.class);
    ExecutorService pool = Executors.newFixedThreadPool(AT_ONCE);
    for (String name : names) {
      pool.submit(() -> run(name, version));
    }
    pool.shutdown();
    pool.awaitTermination(20, TimeUnit.MINUTES);
    System.exit(0);
  }
}
