// Command worker is one hop of a chain, written with the official Pub/Sub
// client: the published experiment's worker. It keeps docs/worker-contract.md.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// The contract gives a worker 30 s from SIGTERM to its exit. Handlers get
	// most of it, the last spans the rest.
	drainLimit = 25 * time.Second
	flushLimit = 3 * time.Second

	retryPause   = 250 * time.Millisecond
	probeTimeout = 5 * time.Second
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, err := readSettings(os.Getenv)
	if err == nil {
		log = log.With("arm", s.arm, "hop", s.hop)
		err = run(s, log)
	}
	if err != nil {
		log.Error("worker failed", "error", err)
		os.Exit(1)
	}
}

// run works until SIGTERM or SIGINT; nil after a complete drain.
func run(s settings, log *slog.Logger) error {
	stopped, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()

	flush, err := startTracing(s.otlpProtocol)
	if err != nil {
		return err
	}
	client, err := pubsub.NewClientWithConfig(context.Background(), s.project,
		&pubsub.ClientConfig{EnableOpenTelemetryTracing: true}, connectOften())
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if err := awaitBroker(stopped, client, s.subscription, log); err != nil {
		return err
	}
	err = receive(stopped, client, s, log)
	// Messages count more than spans: a collector that is gone fails no worker.
	if lost := flush(); lost != nil {
		log.Warn("the last spans were not sent", "error", lost)
	}
	return err
}

// connectOften keeps gRPC's pause between two connection attempts short, so
// that a worker that starts before its broker starts with it. It matters only
// while there is no connection.
func connectOften() option.ClientOption {
	return option.WithGRPCDialOption(grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: retryPause, Multiplier: 1, MaxDelay: retryPause},
		MinConnectTimeout: probeTimeout,
	}))
}

// awaitBroker returns once the broker answers, or an error when its answer is
// that the subscription is not there. A role that may consume but not look is
// an answer too.
func awaitBroker(stopped context.Context, client *pubsub.Client, subscription string, log *slog.Logger) error {
	told := false
	for stopped.Err() == nil {
		probe, cancel := context.WithTimeout(stopped, probeTimeout)
		_, err := client.SubscriptionAdminClient.GetSubscription(probe,
			&pubsubpb.GetSubscriptionRequest{Subscription: subscription})
		cancel()
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded:
		case codes.OK, codes.PermissionDenied:
			return nil
		default:
			if stopped.Err() != nil {
				return nil
			}
			return fmt.Errorf("subscription %s: %w", subscription, err)
		}
		if !told {
			log.Warn("the broker does not answer yet; trying on", "error", err)
			told = true
		}
		select {
		case <-stopped.Done():
		case <-time.After(retryPause):
		}
	}
	return nil
}

// receive works the subscription until stopped, then drains: the library takes
// no further message, waits for the handlers that run and sends what they
// acked. Its timed shutdown is not used, because that returns without waiting
// for the last acks.
func receive(stopped context.Context, client *pubsub.Client, s settings, log *slog.Logger) error {
	subscriber := client.Subscriber(s.subscription)
	subscriber.ReceiveSettings.NumGoroutines = s.streams
	subscriber.ReceiveSettings.MaxOutstandingMessages = s.maxOutstanding
	w := &worker{settings: s, log: log}
	if s.nextTopic != "" {
		w.publisher = client.Publisher(s.nextTopic)
	}
	done := make(chan error, 1)
	go func() {
		err := subscriber.Receive(stopped, w.handle)
		if w.publisher != nil {
			w.publisher.Stop() // sends what fire left behind
		}
		done <- err
	}()
	log.Info("receiving", "subscription", s.subscription, "next", s.nextTopic, "streams", s.streams)

	select {
	case err := <-done:
		return receiveError(err)
	case <-stopped.Done():
	}
	log.Info("draining", "handlers", w.running.Load())
	select {
	case err := <-done:
		log.Info("stopped", "handled", w.handled.Load())
		return receiveError(err)
	case <-time.After(drainLimit):
		return fmt.Errorf("%d handlers still ran %v after the signal; their messages come again", w.running.Load(), drainLimit)
	}
}

func receiveError(err error) error {
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	return nil
}
