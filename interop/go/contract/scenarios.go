package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

const (
	// Seven workers start at once, and some runtimes take their time; who is
	// sooner ends the wait.
	soon = 60 * time.Second
	// A lease of a worker that was killed runs up to 60 s.
	afterLease = 100 * time.Second
)

// A scenario judges one worker on one hop. As many run at a time as are told to.
type scenario struct {
	name string
	run  func(ctx context.Context, h *hop) error
}

var scenarios = []scenario{
	{"passes every message on once, and its trace", passesOn},
	{"starts before its broker", startsFirst},
	{"SIGTERM in the middle of work loses and repeats nothing", drains},
	{"killed, it loses nothing", survivesKill},
	{"a publish that fails is a nack", nacksFailedPublish},
	{"HOPGAP_PUBLISH=fire passes on too", fires},
	{"the last hop acks", lastHop},
}

// ready sends a first message and returns once it is through: the worker runs.
func (h *hop) ready(ctx context.Context, worker *workerProcess) error {
	if err := h.send(ctx); err != nil {
		return err
	}
	if err := h.out1.await(1, soon); err != nil {
		return fmt.Errorf("%w; the worker said: %s", err, worker.output.tail())
	}
	return nil
}

// In one handler after the other, 20 messages would take 10 s.
func passesOn(ctx context.Context, h *hop) error {
	const work = 500 * time.Millisecond
	worker, err := h.start(work, nil)
	if err != nil {
		return err
	}
	defer worker.kill()
	if err := h.ready(ctx, worker); err != nil {
		return err
	}
	if err := h.sendAll(ctx, 20, 0); err != nil {
		return err
	}
	if err := h.out1.await(len(h.sent), soon); err != nil {
		return fmt.Errorf("%w; the worker said: %s", err, worker.output.tail())
	}
	all := h.out1.all()
	spread := all[len(all)-1].PublishTime.AsTime().Sub(all[1].PublishTime.AsTime())
	if spread > 10*work {
		return fmt.Errorf("20 messages left over %v: their handlers did not run side by side", spread)
	}
	if err := worker.terminate(); err != nil {
		return err
	}
	if err := h.onceEach(); err != nil {
		return err
	}
	if err := h.sameMessages(work); err != nil {
		return err
	}
	if err := h.tracesContinue(); err != nil {
		return err
	}
	return h.nothingMore(ctx, nil)
}

// nothingMore lets a second worker take what the first should have acked, and
// waits until every lease has run out.
func (h *hop) nothingMore(ctx context.Context, more map[string]string) error {
	second, err := h.start(0, more)
	if err != nil {
		return err
	}
	defer second.kill()
	if err := h.out1.await(len(h.sent), soon); err != nil {
		return fmt.Errorf("%w; the second worker said: %s", err, second.output.tail())
	}
	select {
	case <-time.After(h.quiet):
	case <-ctx.Done():
	}
	if err := second.terminate(); err != nil {
		return err
	}
	return h.onceEach()
}

// The broker comes after 9 s: longer than a client's own retries may hide.
func startsFirst(ctx context.Context, h *hop) error {
	late, err := newRelay()
	if err != nil {
		return err
	}
	worker, err := h.start(0, map[string]string{"PUBSUB_EMULATOR_HOST": late.address})
	if err != nil {
		return err
	}
	defer worker.kill()
	if err := h.sendAll(ctx, 3, 3*time.Second); err != nil {
		return err
	}
	if !worker.alive() {
		return fmt.Errorf("it ended before its broker was there: %s", worker.output.tail())
	}
	stop, err := late.open(h.broker.address)
	if err != nil {
		return err
	}
	defer stop()
	if err := h.out1.await(len(h.sent), soon); err != nil {
		return fmt.Errorf("%w; the worker said: %s", err, worker.output.tail())
	}
	if err := worker.terminate(); err != nil {
		return err
	}
	return h.onceEach()
}

// The signal comes while messages wait, work, publish and have been acked.
func drains(ctx context.Context, h *hop) error {
	worker, err := h.start(600*time.Millisecond, nil)
	if err != nil {
		return err
	}
	defer worker.kill()
	if err := h.ready(ctx, worker); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- h.sendAll(ctx, 40, 50*time.Millisecond) }()
	if err := h.out1.await(8, soon); err != nil {
		return fmt.Errorf("%w; the worker said: %s", err, worker.output.tail())
	}
	if err := worker.terminate(); err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	if count := len(copies(h.out1.all())); count >= len(h.sent) {
		return fmt.Errorf("all %d messages were through before the signal took effect: nothing was tested", count)
	}
	return h.leftForTheSecond(ctx)
}

// leftForTheSecond: what went back may wait for its lease.
func (h *hop) leftForTheSecond(ctx context.Context) error {
	second, err := h.start(0, nil)
	if err != nil {
		return err
	}
	defer second.kill()
	if err := h.out1.await(len(h.sent), afterLease); err != nil {
		return fmt.Errorf("%w; the second worker said: %s", err, second.output.tail())
	}
	select {
	case <-time.After(h.quiet):
	case <-ctx.Done():
	}
	if err := second.terminate(); err != nil {
		return err
	}
	return h.onceEach()
}

func survivesKill(ctx context.Context, h *hop) error {
	worker, err := h.start(600*time.Millisecond, nil)
	if err != nil {
		return err
	}
	defer worker.kill()
	if err := h.ready(ctx, worker); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- h.sendAll(ctx, 40, 50*time.Millisecond) }()
	if err := h.out1.await(8, soon); err != nil {
		return fmt.Errorf("%w; the worker said: %s", err, worker.output.tail())
	}
	syscall.Kill(-worker.process.Process.Pid, syscall.SIGKILL)
	<-worker.ended
	if err := <-done; err != nil {
		return err
	}
	second, err := h.start(0, nil)
	if err != nil {
		return err
	}
	defer second.kill()
	if err := h.out1.await(len(h.sent), afterLease); err != nil {
		return fmt.Errorf("%w; the second worker said: %s", err, second.output.tail())
	}
	return second.terminate()
}

// The next topic comes after the worker has failed to publish to it.
func nacksFailedPublish(ctx context.Context, h *hop) error {
	missing := h.out + "-late"
	worker, err := h.start(0, map[string]string{"HOPGAP_NEXT_TOPIC": topicName(missing)})
	if err != nil {
		return err
	}
	defer worker.kill()
	if err := h.send(ctx); err != nil {
		return err
	}
	// A subscribe span that ended is a delivery that was nacked.
	if err := h.spans.await(h.sent[0].traceID, " subscribe", soon); err != nil {
		return fmt.Errorf("%w; the worker said: %s", err, worker.output.tail())
	}
	if !worker.alive() {
		return fmt.Errorf("it ended because its next topic was not there: %s", worker.output.tail())
	}
	if err := h.broker.create(ctx, missing, false); err != nil {
		return err
	}
	h.out1 = h.broker.collect(ctx, missing)
	if err := h.out1.await(1, afterLease); err != nil {
		return fmt.Errorf("%w; the worker said: %s", err, worker.output.tail())
	}
	if err := worker.terminate(); err != nil {
		return err
	}
	return h.onceEach()
}

func fires(ctx context.Context, h *hop) error {
	fire := map[string]string{"HOPGAP_PUBLISH": "fire"}
	worker, err := h.start(0, fire)
	if err != nil {
		return err
	}
	defer worker.kill()
	if err := h.sendAll(ctx, 5, 0); err != nil {
		return err
	}
	if err := h.out1.await(len(h.sent), soon); err != nil {
		return fmt.Errorf("%w; the worker said: %s", err, worker.output.tail())
	}
	if err := worker.terminate(); err != nil {
		return err
	}
	return h.nothingMore(ctx, fire)
}

// lastHop: no next topic, so the only thing to see is that the messages are
// gone: a reader of the same subscription gets none of them once their leases
// would have ended.
func lastHop(ctx context.Context, h *hop) error {
	worker, err := h.start(0, map[string]string{"HOPGAP_NEXT_TOPIC": ""})
	if err != nil {
		return err
	}
	defer worker.kill()
	if err := h.sendAll(ctx, 5, 0); err != nil {
		return err
	}
	for _, sent := range h.sent {
		if err := h.spans.await(sent.traceID, " process", soon); err != nil {
			return fmt.Errorf("%w; the worker said: %s", err, worker.output.tail())
		}
	}
	if err := worker.terminate(); err != nil {
		return err
	}
	left := h.broker.collect(ctx, h.in)
	defer left.stop()
	select {
	case <-time.After(h.quiet):
	case <-ctx.Done():
	}
	again := left.all()
	if len(again) > 0 {
		return fmt.Errorf("%d of 5 messages came again: they were not acked", len(again))
	}
	for _, sent := range h.sent {
		subscribe, err := h.spans.child(sent.traceID, sent.spanID, " subscribe")
		if err != nil {
			return err
		}
		if _, err := h.spans.child(sent.traceID, subscribe.id, " process"); err != nil {
			return err
		}
	}
	return nil
}
