import com.google.api.core.ApiFuture;
import com.google.cloud.pubsub.v1.AckResponse;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.pubsub.v1.DeadLetterPolicy;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.PullRequest;
import com.google.pubsub.v1.RetryPolicy;
import com.google.pubsub.v1.Subscription;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/** The behaviours that are about messages. */
final class Delivery {
  private static final int SOON_S = Receiver.SOON_S;

  static final Map<String, Behaviours.Behaviour> BEHAVIOURS =
      Map.ofEntries(
          Map.entry("publish-receive", Delivery::publishReceive),
          Map.entry("exactly-once-ack", Delivery::exactlyOnceAck),
          Map.entry("late-ack", Delivery::lateAck),
          Map.entry("mixed-batch", Delivery::mixedBatch),
          Map.entry("thousand-failed-ids", Delivery::thousandFailed),
          Map.entry("exactly-once-switch", Delivery::exactlyOnceSwitch),
          Map.entry("flow-control", Delivery::flowControl),
          Map.entry("message-9mb", Delivery::bigMessage),
          Map.entry("message-too-big", Delivery::tooBigMessage),
          Map.entry("ordering-nack", Delivery::orderingNack),
          Map.entry("ordering-crash", Delivery::orderingCrash),
          Map.entry("dead-letter", Delivery::deadLetter),
          Map.entry("retry-policy", Delivery::retryPolicy),
          Map.entry("filter", Delivery::filtered));

  private Delivery() {}

  // The receipt modack asks for 10 s, and nothing extends it. The library wants the maximum above the minimum.
  private static Subscriber.Builder shortLease(Subscriber.Builder builder) {
    java.time.Duration lease = java.time.Duration.ofSeconds(Behaviours.LEASE_S);
    return builder
        .setMinDurationPerAckExtensionDuration(lease)
        .setMaxDurationPerAckExtensionDuration(lease.plusSeconds(1))
        .setMaxAckExtensionPeriodDuration(java.time.Duration.ofSeconds(1))
        .setFlowControlSettings(
            Subscriber.Builder.getDefaultFlowControlSettings().toBuilder()
                .setMaxOutstandingElementCount(3000L)
                .build());
  }

  private static String only(List<String> statuses) {
    return String.join(", ", new TreeSet<>(statuses));
  }

  private static Behaviours.Seen publishReceive(String name) throws Exception {
    Behaviours.make(name);
    String[] texts = Behaviours.texts("m", 100);
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver.Came::ack)) {
      Map<String, String> attributes = Map.of("colour", "grün");
      Behaviours.publish(name, Arrays.stream(texts).map(text -> Behaviours.message(text, attributes, "")).toList());
      receiver.await(texts.length);
      Receiver.sleep(Behaviours.LEASE_S + 2);
      List<String> got = new ArrayList<>(receiver.texts());
      Collections.sort(got);
      Arrays.sort(texts);
      boolean same =
          got.equals(List.of(texts))
              && receiver.all().stream().allMatch(one -> one.message().getAttributesMap().equals(attributes));
      return new Behaviours.Seen(
          same ? "each once" : "not each once", got.size() + " deliveries of 100 messages in 12 s");
    }
  }

  private static Behaviours.Seen exactlyOnceAck(String name) throws Exception {
    Behaviours.makeExactlyOnce(name);
    List<String> statuses = Collections.synchronizedList(new ArrayList<>());
    List<ApiFuture<AckResponse>> answers = Collections.synchronizedList(new ArrayList<>());
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), one -> answers.add(one.reply().ack()))) {
      Behaviours.publish(name, Behaviours.texts("m", 20));
      receiver.await(20);
      Receiver.sleep(Behaviours.LEASE_S + 2);
      List.copyOf(answers).forEach(answer -> statuses.add(Receiver.statusOf(answer)));
      return new Behaviours.Seen(
          only(statuses), receiver.all().size() + " deliveries, " + statuses.size() + " answers");
    }
  }

  /** Receives count messages and holds them until their leases have ended. */
  private static Receiver heldPastLease(String name, int count) throws Exception {
    Behaviours.makeExactlyOnce(name);
    Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver::hold, Delivery::shortLease);
    Behaviours.publish(name, Behaviours.texts("m", count));
    receiver.await(count);
    Receiver.sleep(Behaviours.LEASE_S + 2);
    return receiver;
  }

  private static String since(long begun) {
    return String.format("%.2f s", (System.nanoTime() - begun) / 1e9);
  }

  private static Behaviours.Seen lateAck(String name) throws Exception {
    try (Receiver receiver = heldPastLease(name, 1)) {
      long begun = System.nanoTime();
      return new Behaviours.Seen(receiver.all().get(0).ackStatus(), "answered after " + since(begun));
    }
  }

  private static Behaviours.Seen mixedBatch(String name) throws Exception {
    try (Receiver receiver = heldPastLease(name, 1)) {
      Receiver.Came late = receiver.all().get(0);
      Behaviours.publish(name, "live");
      Receiver.await(() -> receiver.texts().contains("live"), "the second message");
      Receiver.Came live = receiver.all().get(receiver.texts().indexOf("live"));
      ApiFuture<AckResponse> first = late.reply().ack();
      ApiFuture<AckResponse> second = live.reply().ack();
      return new Behaviours.Seen(
          "late: " + Receiver.statusOf(first) + "; live: " + Receiver.statusOf(second),
          "both acked at the same moment");
    }
  }

  private static Behaviours.Seen thousandFailed(String name) throws Exception {
    try (Receiver receiver = heldPastLease(name, 1000)) {
      String subscription = Behaviours.subscription(name);
      int before = Connection.acknowledgeCalls(subscription);
      long begun = System.nanoTime();
      List<ApiFuture<AckResponse>> answers =
          receiver.all().subList(0, 1000).stream().map(one -> one.reply().ack()).toList();
      List<String> statuses = answers.stream().map(Receiver::statusOf).toList();
      int calls = Connection.acknowledgeCalls(subscription) - before;
      return new Behaviours.Seen(only(statuses), "1000 answers in " + since(begun) + ", calls: " + calls);
    }
  }

  private static Behaviours.Seen flowControl(String name) throws Exception {
    Behaviours.make(name);
    CountDownLatch gate = new CountDownLatch(1);
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    try (Receiver receiver =
        new Receiver(
            Behaviours.subscription(name),
            one -> {
              most.accumulateAndGet(inside.incrementAndGet(), Math::max);
              try {
                gate.await(SOON_S, TimeUnit.SECONDS);
              } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
              }
              inside.decrementAndGet();
              one.ack();
            },
            builder ->
                builder.setFlowControlSettings(
                    Subscriber.Builder.getDefaultFlowControlSettings().toBuilder()
                        .setMaxOutstandingElementCount(5L)
                        .build()))) {
      Behaviours.publish(name, Behaviours.texts("m", 20));
      receiver.await(5);
      Receiver.sleep(2);
      int held = receiver.all().size();
      gate.countDown();
      receiver.await(20);
      return new Behaviours.Seen(
          "at most " + most + ", then all", held + " handed over in 2 s with a limit of 5");
    }
  }

  private static Behaviours.Seen bigMessage(String name) throws Exception {
    Behaviours.make(name);
    byte[] data = new byte[9_000_000];
    for (int i = 0; i < data.length; ++i) {
      data[i] = (byte) (i % 251);
    }
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver.Came::ack)) {
      Publisher publisher = Connection.to(Publisher.newBuilder(Behaviours.topic(name))).build();
      publisher
          .publish(PubsubMessage.newBuilder().setData(ByteString.copyFrom(data)).build())
          .get(SOON_S, TimeUnit.SECONDS);
      publisher.shutdown();
      receiver.await(1);
      boolean same = receiver.all().get(0).message().getData().equals(ByteString.copyFrom(data));
      return new Behaviours.Seen(same ? "the same bytes" : "other bytes", data.length + " bytes");
    }
  }

  private static Behaviours.Seen tooBigMessage(String name) {
    Behaviours.make(name);
    PubsubMessage message = PubsubMessage.newBuilder().setData(ByteString.copyFrom(new byte[10_485_760])).build();
    Behaviours.topics.publish(Behaviours.topic(name), List.of(message));
    return new Behaviours.Seen("accepted", "");
  }

  private static Behaviours.Seen exactlyOnceSwitch(String name) throws Exception {
    Behaviours.make(name);
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver::hold, Delivery::shortLease)) {
      Behaviours.publish(name, "before");
      receiver.await(1);
      String before = receiver.all().get(0).ackStatus();
      Behaviours.update(
          name, Subscription.newBuilder().setEnableExactlyOnceDelivery(true), "enable_exactly_once_delivery");
      Behaviours.publish(name, "after");
      receiver.await(2);
      Receiver.sleep(Behaviours.LEASE_S + 2);
      String after = receiver.all().get(1).ackStatus();
      return new Behaviours.Seen("before: " + before + "; after, too late: " + after, "the stream stayed open");
    }
  }

  /** Whether the last time that each came follows the order of publishing. */
  private static String inOrder(List<String> texts, int count) {
    int last = -1;
    for (String text : Behaviours.texts("m", count)) {
      if (texts.lastIndexOf(text) <= last) {
        return "out of order";
      }
      last = texts.lastIndexOf(text);
    }
    return "in order";
  }

  private static void publishKeyed(String name) throws Exception {
    Behaviours.publish(
        name,
        Arrays.stream(Behaviours.texts("m", 5)).map(text -> Behaviours.message(text, Map.of(), "k")).toList());
  }

  private static Behaviours.Seen orderingNack(String name) throws Exception {
    Behaviours.make(name, Subscription.newBuilder().setEnableMessageOrdering(true));
    List<String> acked = Collections.synchronizedList(new ArrayList<>());
    AtomicBoolean nacked = new AtomicBoolean();
    try (Receiver receiver =
        new Receiver(
            Behaviours.subscription(name),
            one -> {
              if (one.text().equals("m1") && nacked.compareAndSet(false, true)) {
                one.reply().nack();
              } else {
                acked.add(one.text());
                one.ack();
              }
            })) {
      publishKeyed(name);
      Receiver.await(
          () -> {
            List<String> so = List.copyOf(acked);
            return new HashSet<>(so).size() == 5 && inOrder(so, 5).equals("in order");
          },
          "five acked in order");
      return new Behaviours.Seen("in order", String.join(" ", receiver.texts()));
    }
  }

  private static Behaviours.Seen orderingCrash(String name) throws Exception {
    Behaviours.make(name, Subscription.newBuilder().setEnableMessageOrdering(true));
    publishKeyed(name);
    // A consumer that dies with what it has: nothing is acked, nothing given back.
    int died =
        Behaviours.subscriptions
            .pullCallable()
            .call(PullRequest.newBuilder().setSubscription(Behaviours.subscription(name)).setMaxMessages(2).build())
            .getReceivedMessagesCount();
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver.Came::ack)) {
      Receiver.await(() -> new HashSet<>(receiver.texts()).size() == 5, "five received");
      return new Behaviours.Seen(
          inOrder(receiver.texts(), 5), died + " died; " + String.join(" ", receiver.texts()));
    }
  }

  private static Behaviours.Seen deadLetter(String name) throws Exception {
    Behaviours.make(name + "-dead");
    DeadLetterPolicy.Builder policy =
        DeadLetterPolicy.newBuilder()
            .setDeadLetterTopic(Behaviours.topic(name + "-dead"))
            .setMaxDeliveryAttempts(5);
    Behaviours.make(name, Subscription.newBuilder().setDeadLetterPolicy(policy));
    List<String> attempts = Collections.synchronizedList(new ArrayList<>());
    try (Receiver refusing =
            new Receiver(
                Behaviours.subscription(name),
                one -> {
                  // The library hands the count over as an attribute.
                  attempts.add(String.valueOf(Subscriber.getDeliveryAttempt(one.message())));
                  one.reply().nack();
                });
        Receiver dead = new Receiver(Behaviours.subscription(name + "-dead"), Receiver.Came::ack)) {
      Behaviours.publish(name, "m0");
      dead.await(1);
      Map<String, String> attributes = new TreeMap<>(dead.all().get(0).message().getAttributesMap());
      return new Behaviours.Seen(
          "attempts "
              + String.join(" ", attempts)
              + ", then dead with count "
              + attributes.get("CloudPubSubDeadLetterSourceDeliveryCount"),
          String.join(", ", attributes.keySet()));
    }
  }

  private static Behaviours.Seen retryPolicy(String name) throws Exception {
    RetryPolicy.Builder policy =
        RetryPolicy.newBuilder()
            .setMinimumBackoff(Duration.newBuilder().setSeconds(2))
            .setMaximumBackoff(Duration.newBuilder().setSeconds(3));
    Behaviours.make(name, Subscription.newBuilder().setRetryPolicy(policy));
    List<Long> times = Collections.synchronizedList(new ArrayList<>());
    try (Receiver receiver =
        new Receiver(
            Behaviours.subscription(name),
            one -> {
              times.add(System.nanoTime());
              if (times.size() < 3) {
                one.reply().nack();
              } else {
                one.ack();
              }
            })) {
      Behaviours.publish(name, "m0");
      receiver.await(3);
      List<Double> gaps = List.of((times.get(1) - times.get(0)) / 1e9, (times.get(2) - times.get(1)) / 1e9);
      boolean within = gaps.stream().allMatch(gap -> gap >= 2 && gap <= 4);
      return new Behaviours.Seen(
          within ? "within 2 to 4 s" : "outside",
          gaps.stream().map(gap -> String.format("%.2f", gap)).collect(Collectors.joining(" s, ")));
    }
  }

  private static Behaviours.Seen filtered(String name) throws Exception {
    Behaviours.make(
        name, Subscription.newBuilder().setFilter("attributes.colour = \"red\" AND NOT attributes:hidden"));
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver.Came::ack)) {
      Behaviours.publish(
          name,
          List.of(
              Behaviours.message("blue", Map.of("colour", "blue"), ""),
              Behaviours.message("hidden", Map.of("colour", "red", "hidden", ""), ""),
              Behaviours.message("red", Map.of("colour", "red"), "")));
      receiver.await(1);
      Receiver.sleep(1);
      return new Behaviours.Seen(String.join(" ", receiver.texts()), "of blue, hidden, red");
    }
  }
}
