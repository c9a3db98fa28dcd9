package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const project = "contract"

// broker is a `hopgap serve` and a client of it.
type broker struct {
	address string
	client  *pubsub.Client
	process *exec.Cmd
}

func startBroker(hopgap string) (*broker, error) {
	process := exec.Command(hopgap, "serve", "--port", "0")
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("%s serve: %w", hopgap, err)
	}
	b := &broker{process: process}
	lines := bufio.NewScanner(out)
	for b.address == "" && lines.Scan() {
		if _, port, found := strings.Cut(lines.Text(), "listening on "); found {
			b.address = net.JoinHostPort("127.0.0.1", port)
		}
	}
	go io.Copy(io.Discard, out)
	if b.address == "" {
		return nil, fmt.Errorf("%s serve: ended without saying where it listens: %w", hopgap, process.Wait())
	}
	os.Setenv("PUBSUB_EMULATOR_HOST", b.address)
	b.client, err = pubsub.NewClient(context.Background(), project)
	return b, err
}

func (b *broker) stop() {
	b.process.Process.Signal(syscall.SIGTERM)
	b.process.Wait()
}

func topicName(id string) string { return "projects/" + project + "/topics/" + id }
func subscriptionName(id string) string {
	return "projects/" + project + "/subscriptions/" + id + "-sub"
}

// create makes a topic and its subscription.
func (b *broker) create(ctx context.Context, id string, exactlyOnce bool) error {
	_, err := b.client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topicName(id)})
	if err != nil {
		return err
	}
	_, err = b.client.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{
		Name: subscriptionName(id), Topic: topicName(id), AckDeadlineSeconds: 10, EnableExactlyOnceDelivery: exactlyOnce,
	})
	return err
}

func (b *broker) publish(ctx context.Context, id string, message *pubsubpb.PubsubMessage) error {
	_, err := b.client.TopicAdminClient.Publish(ctx,
		&pubsubpb.PublishRequest{Topic: topicName(id), Messages: []*pubsubpb.PubsubMessage{message}})
	return err
}

// arrivals collects what comes out of a subscription, acking it.
type arrivals struct {
	lock     sync.Mutex
	messages []*pubsubpb.PubsubMessage
	changed  chan struct{} // holds at most one note
	stop     context.CancelFunc
}

// collect pulls until stop.
func (b *broker) collect(ctx context.Context, id string) *arrivals {
	ctx, stop := context.WithCancel(ctx)
	a := &arrivals{changed: make(chan struct{}, 1), stop: stop}
	go func() {
		for ctx.Err() == nil {
			response, err := b.client.SubscriptionAdminClient.Pull(ctx,
				&pubsubpb.PullRequest{Subscription: subscriptionName(id), MaxMessages: 100})
			if err != nil {
				if ctx.Err() == nil && status.Code(err) != codes.DeadlineExceeded {
					fmt.Fprintln(os.Stderr, "contract: pull:", err)
				}
				continue
			}
			a.take(ctx, b, id, response.ReceivedMessages)
		}
	}()
	return a
}

func (a *arrivals) take(ctx context.Context, b *broker, id string, received []*pubsubpb.ReceivedMessage) {
	if len(received) == 0 {
		return
	}
	var acks []string
	a.lock.Lock()
	for _, message := range received {
		a.messages = append(a.messages, message.Message)
		acks = append(acks, message.AckId)
	}
	a.lock.Unlock()
	b.client.SubscriptionAdminClient.Acknowledge(ctx,
		&pubsubpb.AcknowledgeRequest{Subscription: subscriptionName(id), AckIds: acks})
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *arrivals) all() []*pubsubpb.PubsubMessage {
	a.lock.Lock()
	defer a.lock.Unlock()
	return append([]*pubsubpb.PubsubMessage(nil), a.messages...)
}

// await returns once count messages with different draws have come.
func (a *arrivals) await(count int, limit time.Duration) error {
	timeout := time.After(limit)
	for {
		if len(copies(a.all())) >= count {
			return nil
		}
		select {
		case <-a.changed:
		case <-timeout:
			return fmt.Errorf("%d of %d messages had reached the next topic after %v", len(copies(a.all())), count, limit)
		}
	}
}

// copies counts messages per hopgap_draw.
func copies(messages []*pubsubpb.PubsubMessage) map[string]int {
	counts := map[string]int{}
	for _, message := range messages {
		counts[message.Attributes["hopgap_draw"]]++
	}
	return counts
}

// relay takes the broker's place at an address of its own, so that the broker
// can seem to start late. Nothing listens there before open.
type relay struct{ address string }

func newRelay() (relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return relay{}, err
	}
	return relay{listener.Addr().String()}, listener.Close()
}

func (r relay) open(target string) (stop func(), err error) {
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			near, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			go pass(near, target)
		}
	}()
	return func() { listener.Close() }, nil
}

func pass(near net.Conn, target string) {
	defer near.Close()
	far, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer far.Close()
	go io.Copy(far, near)
	io.Copy(near, far)
}
