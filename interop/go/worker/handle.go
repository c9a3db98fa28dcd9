package main

import (
	"context"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"go.opentelemetry.io/otel"
)

// The attribute from which hopgap draws the delays it adds: "HOP.SLOT".
const drawAttribute = "hopgap_draw"

type worker struct {
	settings  settings
	log       *slog.Logger
	publisher *pubsub.Publisher // nil at the last hop

	running atomic.Int64 // handlers that have begun and not returned
	handled atomic.Int64
}

// handle is one handler: work, publish on, ack. The library calls it on a
// goroutine of its own, with the process span in ctx.
func (w *worker) handle(ctx context.Context, message *pubsub.Message) {
	w.running.Add(1)
	defer w.running.Add(-1)
	w.workFor(ctx)
	if w.publisher != nil {
		// Receive cancels ctx on SIGTERM; what has begun is to be finished.
		result := w.publisher.Publish(context.WithoutCancel(ctx), onward(message))
		if !w.settings.awaitPublish {
			go w.watch(result)
		} else if _, err := result.Get(context.WithoutCancel(ctx)); err != nil {
			w.log.Error("publish failed, so the message is nacked", "message", message.ID, "error", err)
			message.Nack()
			return
		}
	}
	message.Ack()
	w.handled.Add(1)
}

// workFor is the simulated work, in a span of its own as in the published
// experiment.
func (w *worker) workFor(ctx context.Context) {
	_, span := otel.Tracer("hopgap/interop/go/worker").Start(ctx, "worker.stage"+w.settings.hop+".process")
	defer span.End()
	time.Sleep(w.settings.work)
}

// watch says that a publish failed after its message was acked: fire gives no
// other answer.
func (w *worker) watch(result *pubsub.PublishResult) {
	if _, err := result.Get(context.Background()); err != nil {
		w.log.Error("publish failed after the ack; the message is lost", "error", err)
	}
}

// onward is the message for the next hop. The library overwrites the
// googclient_ attributes with those of the new create span.
func onward(message *pubsub.Message) *pubsub.Message {
	attributes := maps.Clone(message.Attributes)
	if draw, there := attributes[drawAttribute]; there {
		attributes[drawAttribute] = nextDraw(draw)
	}
	return &pubsub.Message{Data: message.Data, Attributes: attributes}
}

// nextDraw turns "H.S" into "(H+1).S"; anything else stays as it is.
func nextDraw(draw string) string {
	hop, slot, found := strings.Cut(draw, ".")
	number, err := strconv.ParseUint(hop, 10, 32)
	if !found || err != nil {
		return draw
	}
	return strconv.FormatUint(number+1, 10) + "." + slot
}
