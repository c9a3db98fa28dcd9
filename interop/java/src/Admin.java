import com.google.cloud.pubsub.v1.TopicAdminClient.ListTopicsPage;
import com.google.protobuf.ByteString;
import com.google.protobuf.util.Timestamps;
import com.google.pubsub.v1.ListTopicsRequest;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.SeekRequest;
import com.google.pubsub.v1.Subscription;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The behaviours that are about resources, and about the broker itself. */
final class Admin {
  static final Map<String, Behaviours.Behaviour> BEHAVIOURS =
      Map.ofEntries(
          Map.entry("seek-time", Admin::seekTime),
          Map.entry("seek-snapshot", Admin::seekSnapshot),
          Map.entry("paging", Admin::paging),
          Map.entry("masks", Admin::masks),
          Map.entry("admin-errors", Admin::adminErrors),
          Map.entry("deleted-while-open", Admin::deletedWhileOpen),
          Map.entry("ack-reply-lost", Admin::replyLost),
          Map.entry("server-restart", name -> restarted(name, "/restart")),
          Map.entry("server-crash", name -> restarted(name, "/crash")),
          Map.entry("transient-ack-failure", Admin::transientFailure),
          Map.entry("stream-recycle", Admin::streamRecycle),
          Map.entry("idle", Admin::idle));

  private Admin() {}

  private static String since(long begun) {
    return String.format("%.2f s", (System.nanoTime() - begun) / 1e9);
  }

  /** Receives both messages, seeks, and receives them again. */
  private static Behaviours.Seen soughtAgain(String name, SeekRequest.Builder seek) {
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver.Came::ack)) {
      receiver.await(2);
      Receiver.sleep(1);
      Behaviours.subscriptions.seek(seek.setSubscription(Behaviours.subscription(name)).build());
      receiver.await(4);
      return new Behaviours.Seen("again", String.join(" ", receiver.texts()));
    }
  }

  private static Behaviours.Seen seekTime(String name) throws Exception {
    Behaviours.make(name, Subscription.newBuilder().setRetainAckedMessages(true));
    SeekRequest.Builder seek =
        SeekRequest.newBuilder().setTime(Timestamps.fromMillis(System.currentTimeMillis()));
    Behaviours.publish(name, "m0", "m1");
    return soughtAgain(name, seek);
  }

  private static Behaviours.Seen seekSnapshot(String name) throws Exception {
    Behaviours.make(name);
    Behaviours.publish(name, "m0", "m1");
    String snapshot = "projects/" + Behaviours.PROJECT + "/snapshots/" + name;
    Behaviours.subscriptions.createSnapshot(snapshot, Behaviours.subscription(name));
    return soughtAgain(name, SeekRequest.newBuilder().setSnapshot(snapshot));
  }

  private static Behaviours.Seen paging(String name) {
    String project = "projects/" + Behaviours.PROJECT + "-paging";
    for (int i = 0; i < 25; ++i) {
      Behaviours.topics.createTopic(String.format("%s/topics/t%02d", project, i));
    }
    List<String> sizes = new ArrayList<>();
    int total = 0;
    ListTopicsRequest request = ListTopicsRequest.newBuilder().setProject(project).setPageSize(10).build();
    for (ListTopicsPage page : Behaviours.topics.listTopics(request).iteratePages()) {
      sizes.add(String.valueOf(page.getPageElementCount()));
      total += page.getPageElementCount();
    }
    return new Behaviours.Seen("pages of " + String.join(" ", sizes), total + " topics");
  }

  private static String outcome(Runnable call) {
    try {
      call.run();
      return "OK";
    } catch (RuntimeException error) {
      return Behaviours.codeOf(error);
    }
  }

  private static Behaviours.Seen masks(String name) {
    Behaviours.make(name, Subscription.newBuilder().putLabels("a", "1"));
    Subscription after =
        Behaviours.update(
            name, Subscription.newBuilder().setAckDeadlineSeconds(77).putLabels("b", "2"), "ack_deadline_seconds");
    String unknown =
        outcome(
            () -> Behaviours.update(name, Subscription.newBuilder().setAckDeadlineSeconds(78), "no_such_field"));
    return new Behaviours.Seen(
        String.format(
            "deadline %d, labels %s %s; unknown: %s",
            after.getAckDeadlineSeconds(),
            after.getLabelsOrDefault("a", "-"),
            after.getLabelsOrDefault("b", "-"),
            unknown),
        "");
  }

  private static Behaviours.Seen adminErrors(String name) {
    Behaviours.make(name);
    PubsubMessage message = PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8("x")).build();
    List<String> codes =
        List.of(
            outcome(() -> Behaviours.topics.createTopic(Behaviours.topic(name))),
            outcome(() -> Behaviours.subscriptions.getSubscription(Behaviours.subscription("none"))),
            outcome(() -> Behaviours.topics.createTopic(Behaviours.topic("goog-x"))),
            outcome(() -> Behaviours.topics.publish(Behaviours.topic("none"), List.of(message))));
    return new Behaviours.Seen(String.join(" ", codes), "");
  }

  private static Behaviours.Seen deletedWhileOpen(String name) throws Exception {
    Behaviours.make(name);
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver.Came::ack)) {
      Behaviours.publish(name, "m0");
      receiver.await(1);
      Receiver.sleep(1);
      Behaviours.subscriptions.deleteSubscription(Behaviours.subscription(name));
      Throwable failure = receiver.failed.get(Receiver.SOON_S, TimeUnit.SECONDS);
      return new Behaviours.Seen(Behaviours.codeOf(failure), String.valueOf(failure.getMessage()));
    } catch (TimeoutException error) {
      return new Behaviours.Seen("went on", "");
    }
  }

  private static Behaviours.Seen restarted(String name, String how) throws Exception {
    Behaviours.make(name);
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver.Came::ack)) {
      Behaviours.publish(name, Behaviours.texts("a", 20));
      receiver.await(1);
      CompletableFuture<Void> late =
          CompletableFuture.runAsync(
              () -> {
                try {
                  Behaviours.publish(name, Behaviours.texts("b", 20));
                } catch (Exception error) {
                  throw new IllegalStateException(error);
                }
              });
      Behaviours.control(how, "restarted");
      late.get(Receiver.SOON_S, TimeUnit.SECONDS);
      Behaviours.publish(name, Behaviours.texts("c", 20));
      // What was on its way when the broker went comes again when its lease has ended, 60 s later.
      Receiver.await(() -> new HashSet<>(receiver.texts()).size() == 60, "60 messages", 2 * Receiver.SOON_S);
      return new Behaviours.Seen(
          "none lost", "60 messages, " + (receiver.texts().size() - 60) + " delivered again");
    }
  }

  private static Behaviours.Seen replyLost(String name) throws Exception {
    Behaviours.makeExactlyOnce(name);
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver::hold)) {
      Behaviours.publish(name, "m0");
      receiver.await(1);
      Behaviours.control("/lose-reply?subscription=" + Behaviours.subscription(name), "armed");
      long begun = System.nanoTime();
      String status = receiver.all().get(0).ackStatus();
      String answered = since(begun);
      Behaviours.control("/was-lost", "lost");
      Receiver.sleep(Behaviours.LEASE_S + 2);
      int count = receiver.all().size();
      return new Behaviours.Seen(
          status + ", handed over " + (count == 1 ? "once" : count + " times"), "answered after " + answered);
    }
  }

  private static Behaviours.Seen transientFailure(String name) throws Exception {
    Behaviours.makeExactlyOnce(name);
    Behaviours.control("/fail-acks?subscription=" + Behaviours.subscription(name), "armed");
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver::hold)) {
      Behaviours.publish(name, "m0");
      receiver.await(1);
      long begun = System.nanoTime();
      return new Behaviours.Seen(receiver.all().get(0).ackStatus(), "answered after " + since(begun));
    }
  }

  private static Behaviours.Seen streamRecycle(String name) throws Exception {
    Behaviours.make(name);
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver.Came::ack)) {
      Behaviours.publish(name, "m0");
      receiver.await(1);
      Behaviours.control("/recycle?subscription=" + Behaviours.subscription(name), "recycled");
      long begun = System.nanoTime();
      Behaviours.publish(name, "m1");
      Receiver.await(() -> receiver.texts().contains("m1"), "the second message");
      return new Behaviours.Seen("received", since(begun) + " after the stream was closed");
    }
  }

  private static Behaviours.Seen idle(String name) throws Exception {
    Behaviours.makeExactlyOnce(name);
    try (Receiver receiver = new Receiver(Behaviours.subscription(name), Receiver::hold)) {
      Receiver.sleep(600);
      long begun = System.nanoTime();
      Behaviours.publish(name, "m0");
      receiver.await(1);
      String came = since(begun);
      return new Behaviours.Seen(receiver.all().get(0).ackStatus(), "received " + came + " after ten idle minutes");
    }
  }
}
