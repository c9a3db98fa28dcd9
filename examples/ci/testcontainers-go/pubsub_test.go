// A test that starts its own Pub/Sub with Testcontainers and proves exactly-once delivery with the official client.
package example

import (
	"context"
	"os"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// startPubSub starts hopgap's image and says where it serves. The image's own health check says when.
func startPubSub(ctx context.Context, t *testing.T) (endpoint string) {
	t.Helper()
	container, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: testcontainers.ContainerRequest{
			Image:        "hopgap",
			ExposedPorts: []string{"8085/tcp"},
			WaitingFor:   wait.ForHealthCheck().WithStartupTimeout(30 * time.Second),
		},
		Started: true,
	})
	testcontainers.CleanupContainer(t, container)
	if err != nil {
		t.Fatal(err)
	}
	// No scheme: what the client takes is HOST:PORT.
	if endpoint, err = container.PortEndpoint(ctx, "8085/tcp", ""); err != nil {
		t.Fatal(err)
	}
	return endpoint
}

// connect gives a client of the broker that PUBSUB_EMULATOR_HOST names, or of one in a container of its own.
func connect(ctx context.Context, t *testing.T) *pubsub.Client {
	t.Helper()
	endpoint := os.Getenv("PUBSUB_EMULATOR_HOST")
	if endpoint == "" {
		endpoint = startPubSub(ctx, t)
	}
	client, err := pubsub.NewClient(ctx, "test", option.WithEndpoint(endpoint), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestAMessageIsAckedOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := connect(ctx, t)

	topic := &pubsubpb.Topic{Name: "projects/test/topics/orders"}
	if _, err := client.TopicAdminClient.CreateTopic(ctx, topic); err != nil {
		t.Fatal(err)
	}
	subscription := &pubsubpb.Subscription{Name: "projects/test/subscriptions/orders-sub", Topic: topic.Name,
		EnableExactlyOnceDelivery: true}
	if _, err := client.SubscriptionAdminClient.CreateSubscription(ctx, subscription); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Publisher("orders").Publish(ctx, &pubsub.Message{Data: []byte("one")}).Get(ctx); err != nil {
		t.Fatal(err)
	}

	receiving, stop := context.WithCancel(ctx)
	var received []string
	err := client.Subscriber("orders-sub").Receive(receiving, func(ctx context.Context, message *pubsub.Message) {
		received = append(received, string(message.Data))
		// Under exactly-once delivery the result says whether the ack held.
		if status, err := message.AckWithResult().Get(ctx); err != nil || status != pubsub.AcknowledgeStatusSuccess {
			t.Errorf("ack: %v, %v", status, err)
		}
		stop()
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(received) != 1 || received[0] != "one" {
		t.Errorf("received %v", received)
	}
}
