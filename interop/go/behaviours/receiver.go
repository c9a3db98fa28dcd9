package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

const (
	project = "golang"
	soon    = 60 * time.Second
	lease   = 10 * time.Second // the shortest that a client can ask for
)

func topicName(name string) string { return "projects/" + project + "/topics/" + name }
func subscriptionName(name string) string {
	return "projects/" + project + "/subscriptions/" + name + "-sub"
}

// create makes a topic and its subscription; fields may be nil.
func create(ctx context.Context, name string, fields *pubsubpb.Subscription) error {
	if _, err := client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topicName(name)}); err != nil {
		return err
	}
	if fields == nil {
		fields = &pubsubpb.Subscription{}
	}
	fields.Name, fields.Topic, fields.AckDeadlineSeconds = subscriptionName(name), topicName(name), int32(lease.Seconds())
	_, err := client.SubscriptionAdminClient.CreateSubscription(ctx, fields)
	return err
}

func publish(ctx context.Context, name string, messages ...*pubsub.Message) error {
	publisher := client.Publisher(topicName(name))
	defer publisher.Stop()
	publisher.EnableMessageOrdering = true
	var results []*pubsub.PublishResult
	for _, message := range messages {
		results = append(results, publisher.Publish(ctx, message))
	}
	for _, result := range results {
		if _, err := result.Get(ctx); err != nil {
			return err
		}
	}
	return nil
}

func text(words ...string) (messages []*pubsub.Message) {
	for _, word := range words {
		messages = append(messages, &pubsub.Message{Data: []byte(word)})
	}
	return messages
}

// numbered is m0, m1, …
func numbered(letter string, count int) (words []string) {
	for i := range count {
		words = append(words, fmt.Sprint(letter, i))
	}
	return words
}

// receiver keeps what came to a subscriber with the library's defaults, unless
// settings change them.
type receiver struct {
	lock sync.Mutex
	came []*pubsub.Message
	stop context.CancelFunc
	done chan error // holds the end of Receive
}

func receive(ctx context.Context, name string, settings func(*pubsub.ReceiveSettings), handle func(*pubsub.Message)) *receiver {
	ctx, stop := context.WithCancel(ctx)
	r := &receiver{stop: stop, done: make(chan error, 1)}
	subscriber := client.Subscriber(subscriptionName(name))
	if settings != nil {
		settings(&subscriber.ReceiveSettings)
	}
	go func() {
		r.done <- subscriber.Receive(ctx, func(_ context.Context, message *pubsub.Message) {
			r.lock.Lock()
			r.came = append(r.came, message)
			r.lock.Unlock()
			if handle != nil {
				handle(message)
			}
		})
	}()
	return r
}

func (r *receiver) close() {
	r.stop()
	select {
	case <-r.done:
	case <-time.After(soon): // held messages keep Receive waiting
	}
}

func (r *receiver) messages() []*pubsub.Message {
	r.lock.Lock()
	defer r.lock.Unlock()
	return append([]*pubsub.Message(nil), r.came...)
}

func (r *receiver) texts() (texts []string) {
	for _, message := range r.messages() {
		texts = append(texts, string(message.Data))
	}
	return texts
}

func (r *receiver) await(count int) error {
	return until(func() bool { return len(r.messages()) >= count }, fmt.Sprintf("%d messages", count))
}

func until(holds func() bool, what string) error { return within(soon, holds, what) }

func within(limit time.Duration, holds func() bool, what string) error {
	for end := time.Now().Add(limit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within %v", what, limit)
		}
	}
	return nil
}

func acks(message *pubsub.Message) { message.Ack() }

// ackStatus is what the library says of an ack.
func ackStatus(ctx context.Context, message *pubsub.Message) string {
	return statusOf(ctx, message.AckWithResult())
}

func statusOf(ctx context.Context, result *pubsub.AckResult) string {
	answer, err := result.Get(ctx)
	switch answer {
	case pubsub.AcknowledgeStatusSuccess:
		return "success"
	case pubsub.AcknowledgeStatusInvalidAckID:
		return "invalid ack id"
	}
	return fmt.Sprintf("status %d: %v", answer, err)
}

func only(words []string) string {
	seen := map[string]bool{}
	var distinct []string
	for _, word := range words {
		if !seen[word] {
			distinct = append(distinct, word)
		}
		seen[word] = true
	}
	sort.Strings(distinct)
	return strings.Join(distinct, ", ")
}

// shortLease: the receipt modack asks for 10 s, and nothing extends it.
func shortLease(settings *pubsub.ReceiveSettings) {
	settings.MinDurationPerAckExtension, settings.MaxDurationPerAckExtension = lease, lease
	settings.MaxExtension = time.Second
	settings.MaxOutstandingMessages = 3000
}

// heldPastLease receives count messages and holds them until their leases have
// ended.
func heldPastLease(ctx context.Context, name string, count int) (*receiver, error) {
	if err := create(ctx, name, &pubsubpb.Subscription{EnableExactlyOnceDelivery: true}); err != nil {
		return nil, err
	}
	r := receive(ctx, name, shortLease, nil)
	if err := publish(ctx, name, text(numbered("m", count)...)...); err != nil {
		return r, err
	}
	if err := r.await(count); err != nil {
		return r, err
	}
	time.Sleep(lease + 2*time.Second)
	return r, nil
}
