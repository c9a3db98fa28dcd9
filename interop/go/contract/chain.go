package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

const traceparent = "googclient_traceparent"

// bench is what all scenarios share.
type bench struct {
	broker  *broker
	spans   *spanBook
	command []string
	quiet   time.Duration
}

// hop is one worker's surroundings: a topic before it and one behind it.
type hop struct {
	*bench
	in, out string
	sent    []*sentMessage
	out1    *arrivals
}

type sentMessage struct {
	at                 time.Time
	message            *pubsubpb.PubsubMessage
	traceID, spanID    string
	draw, drawOfResult string
}

// newHop makes both topics and begins to read the second.
func (b *bench) newHop(ctx context.Context, name string, exactlyOnce bool) (*hop, error) {
	h := &hop{bench: b, in: name + "-hop3", out: name + "-hop4"}
	if err := b.broker.create(ctx, h.in, exactlyOnce); err != nil {
		return nil, err
	}
	if err := b.broker.create(ctx, h.out, false); err != nil {
		return nil, err
	}
	h.out1 = b.broker.collect(ctx, h.out)
	return h, nil
}

// start starts the worker; more overrides the variables of the contract.
func (h *hop) start(work time.Duration, more map[string]string) (*workerProcess, error) {
	variables := map[string]string{
		"PUBSUB_EMULATOR_HOST":            h.broker.address,
		"HOPGAP_SUBSCRIPTION":             subscriptionName(h.in),
		"HOPGAP_NEXT_TOPIC":               topicName(h.out),
		"HOPGAP_WORK":                     work.String(),
		"HOPGAP_STREAMS":                  "4",
		"HOPGAP_MAX_OUTSTANDING_MESSAGES": "1000",
		"HOPGAP_PUBLISH":                  "await",
		"HOPGAP_ARM":                      "contract",
		"HOPGAP_HOP":                      "3",
		"OTEL_EXPORTER_OTLP_ENDPOINT":     h.spans.endpoint,
		"OTEL_EXPORTER_OTLP_PROTOCOL":     "grpc",
		"OTEL_SERVICE_NAME":               h.in,
	}
	maps.Copy(variables, more)
	return startWorker(h.command, variables)
}

// send publishes one message, number by number.
func (h *hop) send(ctx context.Context) error {
	number := len(h.sent)
	m := &sentMessage{
		traceID: randomHex(16), spanID: randomHex(8),
		draw: fmt.Sprintf("3.%d", number), drawOfResult: fmt.Sprintf("4.%d", number),
	}
	m.message = &pubsubpb.PubsubMessage{
		Data: []byte{0, byte(number), 0xff, 0xfe, '\n'},
		Attributes: map[string]string{
			"hopgap_draw": m.draw,
			"colour":      "grün",
			"empty":       "",
			traceparent:   "00-" + m.traceID + "-" + m.spanID + "-01",
		},
	}
	m.at = time.Now()
	h.sent = append(h.sent, m)
	return h.broker.publish(ctx, h.in, m.message)
}

func (h *hop) sendAll(ctx context.Context, count int, pause time.Duration) error {
	for range count {
		if err := h.send(ctx); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	return nil
}

func randomHex(bytes int) string {
	id := make([]byte, bytes)
	rand.Read(id)
	return hex.EncodeToString(id)
}

// onceEach says which messages came to the next topic not at all or twice.
func (h *hop) onceEach() error {
	counts := copies(h.out1.all())
	for _, sent := range h.sent {
		if counts[sent.drawOfResult] != 1 {
			return fmt.Errorf("the message with hopgap_draw %s came to the next topic %d times as %s, want once; all: %v",
				sent.draw, counts[sent.drawOfResult], sent.drawOfResult, counts)
		}
	}
	if len(counts) != len(h.sent) {
		return fmt.Errorf("the next topic has hopgap_draw values nobody sent: %v", counts)
	}
	return nil
}

// sameMessages compares data and attributes, and that the work lasted.
func (h *hop) sameMessages(work time.Duration) error {
	got := map[string]*pubsubpb.PubsubMessage{}
	for _, message := range h.out1.all() {
		got[message.Attributes["hopgap_draw"]] = message
	}
	for _, sent := range h.sent {
		message := got[sent.drawOfResult]
		if string(message.Data) != string(sent.message.Data) {
			return fmt.Errorf("message %s: data %q became %q", sent.draw, sent.message.Data, message.Data)
		}
		want := maps.Clone(sent.message.Attributes)
		want["hopgap_draw"] = sent.drawOfResult
		want[traceparent] = message.Attributes[traceparent]
		if !maps.Equal(message.Attributes, want) {
			return fmt.Errorf("message %s: its attributes are %v, want %v", sent.draw, message.Attributes, want)
		}
		if lasted := message.PublishTime.AsTime().Sub(sent.at); lasted < work {
			return fmt.Errorf("message %s was published on %v after it was sent: the work of %v did not last", sent.draw, lasted, work)
		}
	}
	return nil
}

// tracesContinue follows sent create → subscribe → process → create, the
// parent of the next hop.
func (h *hop) tracesContinue() error {
	for _, message := range h.out1.all() {
		for _, sent := range h.sent {
			if sent.drawOfResult != message.Attributes["hopgap_draw"] {
				continue
			}
			if err := h.traceContinues(sent, message.Attributes[traceparent]); err != nil {
				return fmt.Errorf("message %s: %w", sent.draw, err)
			}
		}
	}
	return nil
}

func (h *hop) traceContinues(sent *sentMessage, next string) error {
	subscribe, err := h.spans.child(sent.traceID, sent.spanID, " subscribe")
	if err != nil {
		return err
	}
	process, err := h.spans.child(sent.traceID, subscribe.id, " process")
	if err != nil {
		return err
	}
	create, err := h.spans.child(sent.traceID, process.id, " create")
	if err != nil {
		return err
	}
	if want := "00-" + sent.traceID + "-" + create.id + "-01"; next != want {
		return fmt.Errorf("%s is %q on the next topic, want %q: the create span's, sampled", traceparent, next, want)
	}
	for _, span := range []sentSpan{subscribe, process, create} {
		if span.service != h.in {
			return fmt.Errorf("span %q has service.name %q, not OTEL_SERVICE_NAME's %q", span.name, span.service, h.in)
		}
	}
	if !strings.HasPrefix(subscribe.name, h.in) || !strings.HasPrefix(create.name, h.out) {
		return fmt.Errorf("spans %q and %q do not begin with their subscription %s-sub and topic %s", subscribe.name, create.name, h.in, h.out)
	}
	return nil
}
