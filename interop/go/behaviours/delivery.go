package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

func publishReceive(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, nil); err != nil {
		return "", "", err
	}
	r := receive(ctx, name, nil, acks)
	defer r.close()
	words := numbered("m", 100)
	messages := text(words...)
	for _, message := range messages {
		message.Attributes = map[string]string{"colour": "grün"}
	}
	if err := publish(ctx, name, messages...); err != nil {
		return "", "", err
	}
	if err := r.await(len(words)); err != nil {
		return "", "", err
	}
	time.Sleep(lease + 2*time.Second)
	result := "each once"
	got := r.texts()
	slices.Sort(got)
	slices.Sort(words)
	if !slices.Equal(got, words) {
		result = "not each once"
	}
	for _, message := range r.messages() {
		if message.Attributes["colour"] != "grün" {
			result = "other attributes"
		}
	}
	return result, fmt.Sprintf("%d deliveries of 100 messages in 12 s", len(got)), nil
}

func exactlyOnceAck(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, &pubsubpb.Subscription{EnableExactlyOnceDelivery: true}); err != nil {
		return "", "", err
	}
	var lock sync.Mutex
	var statuses []string
	r := receive(ctx, name, nil, func(message *pubsub.Message) {
		answer := ackStatus(ctx, message)
		lock.Lock()
		defer lock.Unlock()
		statuses = append(statuses, answer)
	})
	defer r.close()
	if err := publish(ctx, name, text(numbered("m", 20)...)...); err != nil {
		return "", "", err
	}
	if err := r.await(20); err != nil {
		return "", "", err
	}
	time.Sleep(lease + 2*time.Second)
	lock.Lock()
	defer lock.Unlock()
	return only(statuses), fmt.Sprintf("%d deliveries, %d answers", len(r.messages()), len(statuses)), nil
}

func lateAck(ctx context.Context, name string) (string, string, error) {
	r, err := heldPastLease(ctx, name, 1)
	if err != nil {
		return "", "", err
	}
	defer r.close()
	begun := time.Now()
	return ackStatus(ctx, r.messages()[0]), fmt.Sprintf("answered after %.2f s", time.Since(begun).Seconds()), nil
}

func mixedBatch(ctx context.Context, name string) (string, string, error) {
	r, err := heldPastLease(ctx, name, 1)
	if err != nil {
		return "", "", err
	}
	defer r.close()
	if err := publish(ctx, name, text("live")...); err != nil {
		return "", "", err
	}
	if err := until(func() bool { return slices.Contains(r.texts(), "live") }, "the second message"); err != nil {
		return "", "", err
	}
	all := r.messages()
	live := all[slices.Index(r.texts(), "live")]
	first, second := all[0].AckWithResult(), live.AckWithResult()
	return fmt.Sprintf("late: %s; live: %s", statusOf(ctx, first), statusOf(ctx, second)),
		"both acked at the same moment", nil
}

func thousandFailed(ctx context.Context, name string) (string, string, error) {
	r, err := heldPastLease(ctx, name, 1000)
	if err != nil {
		return "", "", err
	}
	defer r.close()
	begun, before := time.Now(), acknowledgeCalls.of(subscriptionName(name))
	var results []*pubsub.AckResult
	for _, message := range r.messages()[:1000] {
		results = append(results, message.AckWithResult())
	}
	var statuses []string
	for _, result := range results {
		statuses = append(statuses, statusOf(ctx, result))
	}
	calls := acknowledgeCalls.of(subscriptionName(name)) - before
	return only(statuses), fmt.Sprintf("1000 answers in %.2f s, calls: %d", time.Since(begun).Seconds(), calls), nil
}

func flowControl(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, nil); err != nil {
		return "", "", err
	}
	gate := make(chan struct{})
	var lock sync.Mutex
	inside, most := 0, 0
	r := receive(ctx, name, func(s *pubsub.ReceiveSettings) { s.MaxOutstandingMessages = 5 }, func(message *pubsub.Message) {
		lock.Lock()
		inside++
		most = max(most, inside)
		lock.Unlock()
		<-gate
		lock.Lock()
		inside--
		lock.Unlock()
		message.Ack()
	})
	defer r.close()
	if err := publish(ctx, name, text(numbered("m", 20)...)...); err != nil {
		return "", "", err
	}
	if err := r.await(5); err != nil {
		return "", "", err
	}
	time.Sleep(2 * time.Second)
	held := len(r.messages())
	close(gate)
	err := r.await(20)
	return fmt.Sprintf("at most %d, then all", most), fmt.Sprintf("%d handed over in 2 s with a limit of 5", held), err
}

func bigMessage(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, nil); err != nil {
		return "", "", err
	}
	data := bytes.Repeat([]byte("0123456789"), 900_000)
	r := receive(ctx, name, nil, acks)
	defer r.close()
	if err := publish(ctx, name, &pubsub.Message{Data: data}); err != nil {
		return "", "", err
	}
	if err := r.await(1); err != nil {
		return "", "", err
	}
	if !bytes.Equal(r.messages()[0].Data, data) {
		return "other bytes", "", nil
	}
	return "the same bytes", fmt.Sprintf("%d bytes", len(data)), nil
}

func tooBigMessage(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, nil); err != nil {
		return "", "", err
	}
	_, err := client.TopicAdminClient.Publish(ctx, &pubsubpb.PublishRequest{
		Topic: topicName(name), Messages: []*pubsubpb.PubsubMessage{{Data: make([]byte, 10_485_760)}}})
	return "accepted", "", err
}

func exactlyOnceSwitch(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, nil); err != nil {
		return "", "", err
	}
	r := receive(ctx, name, shortLease, nil)
	defer r.close()
	if err := publish(ctx, name, text("before")...); err != nil {
		return "", "", err
	}
	if err := r.await(1); err != nil {
		return "", "", err
	}
	before := ackStatus(ctx, r.messages()[0])
	fields := &pubsubpb.Subscription{EnableExactlyOnceDelivery: true}
	if _, err := update(ctx, name, fields, "enable_exactly_once_delivery"); err != nil {
		return "", "", err
	}
	if err := publish(ctx, name, text("after")...); err != nil {
		return "", "", err
	}
	if err := r.await(2); err != nil {
		return "", "", err
	}
	time.Sleep(lease + 2*time.Second)
	after := ackStatus(ctx, r.messages()[1])
	return fmt.Sprintf("before: %s; after, too late: %s", before, after), "the stream stayed open", nil
}

// inOrder: the last time that each came follows the order of publishing.
func inOrder(words []string, count int) string {
	last := -1
	for _, word := range numbered("m", count) {
		at := -1
		for i, seen := range words {
			if seen == word {
				at = i
			}
		}
		if at <= last {
			return "out of order"
		}
		last = at
	}
	return "in order"
}

func keyed(words []string) []*pubsub.Message {
	messages := text(words...)
	for _, message := range messages {
		message.OrderingKey = "k"
	}
	return messages
}

func distinct(words []string) int {
	seen := map[string]bool{}
	for _, word := range words {
		seen[word] = true
	}
	return len(seen)
}

func orderingNack(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, &pubsubpb.Subscription{EnableMessageOrdering: true}); err != nil {
		return "", "", err
	}
	var lock sync.Mutex
	var acked []string
	nacked := false
	r := receive(ctx, name, nil, func(message *pubsub.Message) {
		lock.Lock()
		defer lock.Unlock()
		if string(message.Data) == "m1" && !nacked {
			nacked = true
			message.Nack()
			return
		}
		acked = append(acked, string(message.Data))
		message.Ack()
	})
	defer r.close()
	if err := publish(ctx, name, keyed(numbered("m", 5))...); err != nil {
		return "", "", err
	}
	err := until(func() bool {
		lock.Lock()
		defer lock.Unlock()
		return distinct(acked) == 5 && inOrder(acked, 5) == "in order"
	}, "five acked in order")
	return "in order", strings.Join(r.texts(), " "), err
}

func orderingCrash(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, &pubsubpb.Subscription{EnableMessageOrdering: true}); err != nil {
		return "", "", err
	}
	if err := publish(ctx, name, keyed(numbered("m", 5))...); err != nil {
		return "", "", err
	}
	// A consumer that dies with what it has: nothing is acked, nothing given back.
	died, err := client.SubscriptionAdminClient.Pull(ctx,
		&pubsubpb.PullRequest{Subscription: subscriptionName(name), MaxMessages: 2})
	if err != nil {
		return "", "", err
	}
	r := receive(ctx, name, nil, acks)
	defer r.close()
	err = until(func() bool { return distinct(r.texts()) == 5 }, "five received")
	return inOrder(r.texts(), 5), fmt.Sprintf("%d died; %s", len(died.ReceivedMessages), strings.Join(r.texts(), " ")), err
}

func deadLetter(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name+"-dead", nil); err != nil {
		return "", "", err
	}
	policy := &pubsubpb.DeadLetterPolicy{DeadLetterTopic: topicName(name + "-dead"), MaxDeliveryAttempts: 5}
	if err := create(ctx, name, &pubsubpb.Subscription{DeadLetterPolicy: policy}); err != nil {
		return "", "", err
	}
	var lock sync.Mutex
	var attempts []string
	r := receive(ctx, name, nil, func(message *pubsub.Message) {
		lock.Lock()
		defer lock.Unlock()
		attempt := "None"
		if message.DeliveryAttempt != nil {
			attempt = fmt.Sprint(*message.DeliveryAttempt)
		}
		attempts = append(attempts, attempt)
		message.Nack()
	})
	defer r.close()
	dead := receive(ctx, name+"-dead", nil, acks)
	defer dead.close()
	if err := publish(ctx, name, text("m0")...); err != nil {
		return "", "", err
	}
	if err := dead.await(1); err != nil {
		return "", "", err
	}
	attributes := dead.messages()[0].Attributes
	var names []string
	for attribute := range attributes {
		names = append(names, attribute)
	}
	slices.Sort(names)
	lock.Lock()
	defer lock.Unlock()
	return fmt.Sprintf("attempts %s, then dead with count %s", strings.Join(attempts, " "),
		attributes["CloudPubSubDeadLetterSourceDeliveryCount"]), strings.Join(names, ", "), nil
}

func retryPolicy(ctx context.Context, name string) (string, string, error) {
	policy := &pubsubpb.RetryPolicy{
		MinimumBackoff: durationpb.New(2 * time.Second), MaximumBackoff: durationpb.New(3 * time.Second)}
	if err := create(ctx, name, &pubsubpb.Subscription{RetryPolicy: policy}); err != nil {
		return "", "", err
	}
	var lock sync.Mutex
	var times []time.Time
	r := receive(ctx, name, nil, func(message *pubsub.Message) {
		lock.Lock()
		defer lock.Unlock()
		times = append(times, time.Now())
		if len(times) < 3 {
			message.Nack()
		} else {
			message.Ack()
		}
	})
	defer r.close()
	if err := publish(ctx, name, text("m0")...); err != nil {
		return "", "", err
	}
	if err := r.await(3); err != nil {
		return "", "", err
	}
	lock.Lock()
	defer lock.Unlock()
	result, gaps := "within 2 to 4 s", []string{}
	for i := range times[1:] {
		gap := times[i+1].Sub(times[i])
		if gap < 2*time.Second || gap > 4*time.Second {
			result = "outside"
		}
		gaps = append(gaps, fmt.Sprintf("%.2f", gap.Seconds()))
	}
	return result, strings.Join(gaps, " s, "), nil
}

func filtered(ctx context.Context, name string) (string, string, error) {
	filter := `attributes.colour = "red" AND NOT attributes:hidden`
	if err := create(ctx, name, &pubsubpb.Subscription{Filter: filter}); err != nil {
		return "", "", err
	}
	r := receive(ctx, name, nil, acks)
	defer r.close()
	messages := text("blue", "hidden", "red")
	messages[0].Attributes = map[string]string{"colour": "blue"}
	messages[1].Attributes = map[string]string{"colour": "red", "hidden": ""}
	messages[2].Attributes = map[string]string{"colour": "red"}
	if err := publish(ctx, name, messages...); err != nil {
		return "", "", err
	}
	err := r.await(1)
	time.Sleep(time.Second)
	return strings.Join(r.texts(), " "), "of blue, hidden, red", err
}
