import com.google.api.gax.core.CredentialsProvider;
import com.google.api.gax.core.NoCredentialsProvider;
import com.google.api.gax.grpc.InstantiatingGrpcChannelProvider;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.cloud.pubsub.v1.SubscriptionAdminClient;
import com.google.cloud.pubsub.v1.SubscriptionAdminSettings;
import com.google.cloud.pubsub.v1.TopicAdminClient;
import com.google.cloud.pubsub.v1.TopicAdminSettings;
import com.google.pubsub.v1.AcknowledgeRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** How clients reach the broker. Unlike the others, the Java library does not look for PUBSUB_EMULATOR_HOST itself. */
final class Connection {
  // As in the library's own defaults for publisher and subscriber, which a channel provider replaces.
  private static final int MAX_MESSAGE_BYTES = 20 << 20;
  private static final int MAX_METADATA_BYTES = 4 << 20;
  private static final Duration KEEP_ALIVE = Duration.ofMinutes(5);

  private static final String HOST = System.getenv("PUBSUB_EMULATOR_HOST");
  private static final boolean EMULATOR = HOST != null && !HOST.isEmpty();
  private static final CredentialsProvider NOBODY = NoCredentialsProvider.create();

  private Connection() {}

  static Subscriber.Builder to(Subscriber.Builder builder) {
    return EMULATOR ? builder.setChannelProvider(plaintext()).setCredentialsProvider(NOBODY) : builder;
  }

  static Publisher.Builder to(Publisher.Builder builder) {
    return EMULATOR ? builder.setChannelProvider(plaintext()).setCredentialsProvider(NOBODY) : builder;
  }

  static SubscriptionAdminClient subscriptions() throws IOException {
    SubscriptionAdminSettings.Builder settings = SubscriptionAdminSettings.newBuilder();
    if (EMULATOR) {
      settings.setTransportChannelProvider(plaintext()).setCredentialsProvider(NOBODY);
    }
    return SubscriptionAdminClient.create(settings.build());
  }

  static TopicAdminClient topics() throws IOException {
    TopicAdminSettings.Builder settings = TopicAdminSettings.newBuilder();
    if (EMULATOR) {
      settings.setTransportChannelProvider(plaintext()).setCredentialsProvider(NOBODY);
    }
    return TopicAdminClient.create(settings.build());
  }

  private static InstantiatingGrpcChannelProvider plaintext() {
    return SubscriptionAdminSettings.defaultGrpcTransportProviderBuilder()
        .setEndpoint(HOST)
        .setMaxInboundMessageSize(MAX_MESSAGE_BYTES)
        .setMaxInboundMetadataSize(MAX_METADATA_BYTES)
        .setKeepAliveTimeDuration(KEEP_ALIVE)
        .setChannelConfigurator(ManagedChannelBuilder::usePlaintext)
        .setInterceptorProvider(() -> List.of(new AcknowledgeCounter()))
        .build();
  }

  private static final Map<String, Integer> ACKNOWLEDGE_CALLS = new ConcurrentHashMap<>();

  /** How many Acknowledge calls left for a subscription. */
  static int acknowledgeCalls(String subscription) {
    return ACKNOWLEDGE_CALLS.getOrDefault(subscription, 0);
  }

  private static final class AcknowledgeCounter implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return new ForwardingClientCall.SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void sendMessage(Q request) {
          if (request instanceof AcknowledgeRequest ack) {
            ACKNOWLEDGE_CALLS.merge(ack.getSubscription(), 1, Integer::sum);
          }
          super.sendMessage(request);
        }
      };
    }
  }
}
