package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/iterator"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func update(ctx context.Context, name string, fields *pubsubpb.Subscription, paths ...string) (*pubsubpb.Subscription, error) {
	fields.Name = subscriptionName(name)
	return client.SubscriptionAdminClient.UpdateSubscription(ctx, &pubsubpb.UpdateSubscriptionRequest{
		Subscription: fields, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
}

// soughtAgain receives both messages, seeks, and receives them again.
func soughtAgain(ctx context.Context, name string, seek *pubsubpb.SeekRequest) (string, string, error) {
	r := receive(ctx, name, nil, acks)
	defer r.close()
	if err := r.await(2); err != nil {
		return "", "", err
	}
	time.Sleep(time.Second)
	seek.Subscription = subscriptionName(name)
	if _, err := client.SubscriptionAdminClient.Seek(ctx, seek); err != nil {
		return "", "", err
	}
	err := r.await(4)
	return "again", strings.Join(r.texts(), " "), err
}

func seekTime(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, &pubsubpb.Subscription{RetainAckedMessages: true}); err != nil {
		return "", "", err
	}
	begun := timestamppb.Now()
	if err := publish(ctx, name, text("m0", "m1")...); err != nil {
		return "", "", err
	}
	return soughtAgain(ctx, name, &pubsubpb.SeekRequest{Target: &pubsubpb.SeekRequest_Time{Time: begun}})
}

func seekSnapshot(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, nil); err != nil {
		return "", "", err
	}
	if err := publish(ctx, name, text("m0", "m1")...); err != nil {
		return "", "", err
	}
	snapshot := "projects/" + project + "/snapshots/" + name
	if _, err := client.SubscriptionAdminClient.CreateSnapshot(ctx,
		&pubsubpb.CreateSnapshotRequest{Name: snapshot, Subscription: subscriptionName(name)}); err != nil {
		return "", "", err
	}
	return soughtAgain(ctx, name, &pubsubpb.SeekRequest{Target: &pubsubpb.SeekRequest_Snapshot{Snapshot: snapshot}})
}

func paging(ctx context.Context, _ string) (string, string, error) {
	parent := "projects/" + project + "-paging"
	for i := range 25 {
		topic := &pubsubpb.Topic{Name: fmt.Sprintf("%s/topics/t%02d", parent, i)}
		if _, err := client.TopicAdminClient.CreateTopic(ctx, topic); err != nil {
			return "", "", err
		}
	}
	pager := iterator.NewPager(client.TopicAdminClient.ListTopics(ctx, &pubsubpb.ListTopicsRequest{Project: parent}), 10, "")
	var sizes []string
	total := 0
	for token := "more"; token != ""; {
		var page []*pubsubpb.Topic
		var err error
		if token, err = pager.NextPage(&page); err != nil {
			return "", "", err
		}
		sizes = append(sizes, fmt.Sprint(len(page)))
		total += len(page)
	}
	return "pages of " + strings.Join(sizes, " "), fmt.Sprintf("%d topics", total), nil
}

func masks(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, &pubsubpb.Subscription{Labels: map[string]string{"a": "1"}}); err != nil {
		return "", "", err
	}
	fields := &pubsubpb.Subscription{AckDeadlineSeconds: 77, Labels: map[string]string{"b": "2"}}
	after, err := update(ctx, name, fields, "ack_deadline_seconds")
	if err != nil {
		return "", "", err
	}
	unknown := "accepted"
	if _, err := update(ctx, name, &pubsubpb.Subscription{AckDeadlineSeconds: 78}, "no_such_field"); err != nil {
		unknown = codeName(err)
	}
	label := func(key string) string {
		if value, there := after.Labels[key]; there {
			return value
		}
		return "-"
	}
	return fmt.Sprintf("deadline %d, labels %s %s; unknown: %s", after.AckDeadlineSeconds, label("a"), label("b"), unknown), "", nil
}

func adminErrors(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, nil); err != nil {
		return "", "", err
	}
	var seen []string
	note := func(err error) {
		if err == nil {
			seen = append(seen, "OK")
		} else {
			seen = append(seen, codeName(err))
		}
	}
	_, err := client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topicName(name)})
	note(err)
	_, err = client.SubscriptionAdminClient.GetSubscription(ctx,
		&pubsubpb.GetSubscriptionRequest{Subscription: subscriptionName("none")})
	note(err)
	_, err = client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topicName("goog-x")})
	note(err)
	_, err = client.TopicAdminClient.Publish(ctx, &pubsubpb.PublishRequest{
		Topic: topicName("none"), Messages: []*pubsubpb.PubsubMessage{{Data: []byte("x")}}})
	note(err)
	return strings.Join(seen, " "), "", nil
}

func deletedWhileOpen(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, nil); err != nil {
		return "", "", err
	}
	r := receive(ctx, name, nil, acks)
	if err := publish(ctx, name, text("m0")...); err != nil {
		return "", "", err
	}
	if err := r.await(1); err != nil {
		return "", "", err
	}
	time.Sleep(time.Second)
	if err := client.SubscriptionAdminClient.DeleteSubscription(ctx,
		&pubsubpb.DeleteSubscriptionRequest{Subscription: subscriptionName(name)}); err != nil {
		return "", "", err
	}
	select {
	case err := <-r.done:
		if err == nil {
			return "ended without an error", "", nil
		}
		return codeName(err), err.Error(), nil
	case <-time.After(soon):
		r.stop()
		return "went on", "", nil
	}
}

func restarted(ctx context.Context, name, how string) (string, string, error) {
	if err := create(ctx, name, nil); err != nil {
		return "", "", err
	}
	r := receive(ctx, name, nil, acks)
	defer r.close()
	if err := publish(ctx, name, text(numbered("a", 20)...)...); err != nil {
		return "", "", err
	}
	if err := r.await(1); err != nil {
		return "", "", err
	}
	late := make(chan error, 1)
	go func() { late <- publish(ctx, name, text(numbered("b", 20)...)...) }()
	if err := control(how, "restarted"); err != nil {
		return "", "", err
	}
	if err := <-late; err != nil {
		return "", "", err
	}
	if err := publish(ctx, name, text(numbered("c", 20)...)...); err != nil {
		return "", "", err
	}
	// What was on its way when the broker went comes again when its lease has
	// ended, 60 s later.
	err := within(2*soon, func() bool { return distinct(r.texts()) == 60 }, "60 messages")
	return "none lost", fmt.Sprintf("60 messages, %d delivered again", len(r.texts())-60), err
}

// first makes the subscription, opens a receiver on it, and publishes a message that it has when this returns.
func first(ctx context.Context, name string, of *pubsubpb.Subscription, handle func(*pubsub.Message)) (*receiver, error) {
	if err := create(ctx, name, of); err != nil {
		return nil, err
	}
	r := receive(ctx, name, nil, handle)
	err := publish(ctx, name, text("m0")...)
	if err == nil {
		err = r.await(1)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func replyLost(ctx context.Context, name string) (string, string, error) {
	r, err := first(ctx, name, &pubsubpb.Subscription{EnableExactlyOnceDelivery: true}, nil)
	if err != nil {
		return "", "", err
	}
	defer r.close()
	if err := control("/lose-reply?subscription="+subscriptionName(name), "armed"); err != nil {
		return "", "", err
	}
	begun := time.Now()
	answer := ackStatus(ctx, r.messages()[0])
	answered := time.Since(begun).Seconds()
	if err := control("/was-lost", "lost"); err != nil {
		return "", "", err
	}
	time.Sleep(lease + 2*time.Second)
	times := "once"
	if count := len(r.messages()); count != 1 {
		times = fmt.Sprint(count, " times")
	}
	return answer + ", handed over " + times, fmt.Sprintf("answered after %.2f s", answered), nil
}

func transientFailure(ctx context.Context, name string) (string, string, error) {
	r, err := first(ctx, name, &pubsubpb.Subscription{EnableExactlyOnceDelivery: true}, nil)
	if err != nil {
		return "", "", err
	}
	defer r.close()
	if err := control("/fail-acks?subscription="+subscriptionName(name), "armed"); err != nil {
		return "", "", err
	}
	begun := time.Now()
	return ackStatus(ctx, r.messages()[0]), fmt.Sprintf("answered after %.2f s", time.Since(begun).Seconds()), nil
}

func streamRecycle(ctx context.Context, name string) (string, string, error) {
	r, err := first(ctx, name, nil, acks)
	if err != nil {
		return "", "", err
	}
	defer r.close()
	if err := control("/recycle?subscription="+subscriptionName(name), "recycled"); err != nil {
		return "", "", err
	}
	begun := time.Now()
	if err := publish(ctx, name, text("m1")...); err != nil {
		return "", "", err
	}
	err = until(func() bool { return slices.Contains(r.texts(), "m1") }, "the second message")
	return "received", fmt.Sprintf("%.2f s after the stream was closed", time.Since(begun).Seconds()), err
}

func idle(ctx context.Context, name string) (string, string, error) {
	if err := create(ctx, name, &pubsubpb.Subscription{EnableExactlyOnceDelivery: true}); err != nil {
		return "", "", err
	}
	r := receive(ctx, name, nil, nil)
	defer r.close()
	time.Sleep(10 * time.Minute)
	begun := time.Now()
	if err := publish(ctx, name, text("m0")...); err != nil {
		return "", "", err
	}
	if err := r.await(1); err != nil {
		return "", "", err
	}
	came := time.Since(begun).Seconds()
	return ackStatus(ctx, r.messages()[0]), fmt.Sprintf("received %.2f s after ten idle minutes", came), nil
}
