// Command behaviours shows the behaviours of interop/behaviours/behaviours.toml
// with the official Go client.
//
//	behaviours ID…
//
// It prints a line of JSON per behaviour: client, version, behaviour, result,
// evidence.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const atOnce = 8

// A behaviour returns its result in a few words, and what it saw.
type behaviour func(ctx context.Context, name string) (result, evidence string, err error)

var behaviours = map[string]behaviour{
	"publish-receive":       publishReceive,
	"exactly-once-ack":      exactlyOnceAck,
	"late-ack":              lateAck,
	"mixed-batch":           mixedBatch,
	"thousand-failed-ids":   thousandFailed,
	"exactly-once-switch":   exactlyOnceSwitch,
	"flow-control":          flowControl,
	"message-9mb":           bigMessage,
	"message-too-big":       tooBigMessage,
	"ordering-nack":         orderingNack,
	"ordering-crash":        orderingCrash,
	"dead-letter":           deadLetter,
	"retry-policy":          retryPolicy,
	"filter":                filtered,
	"seek-time":             seekTime,
	"seek-snapshot":         seekSnapshot,
	"paging":                paging,
	"masks":                 masks,
	"admin-errors":          adminErrors,
	"deleted-while-open":    deletedWhileOpen,
	"transient-ack-failure": transientFailure,
	"stream-recycle":        streamRecycle,
	"ack-reply-lost":        replyLost,
	"server-restart": func(ctx context.Context, name string) (string, string, error) {
		return restarted(ctx, name, "/restart")
	},
	"server-crash": func(ctx context.Context, name string) (string, string, error) { return restarted(ctx, name, "/crash") },
	"idle":         idle,
}

var client *pubsub.Client

// errNotServed carries the broker's or the runner's reason.
type errNotServed struct{ why string }

func (e errNotServed) Error() string { return e.why }

// codeName is the result of what ended in an error.
func codeName(err error) string {
	var name string
	if s, ok := status.FromError(err); ok {
		name = codeNames[s.Code()]
	}
	if name == "" {
		name = "error"
	}
	return name
}

var codeNames = map[codes.Code]string{
	codes.Canceled: "CANCELLED", codes.InvalidArgument: "INVALID_ARGUMENT", codes.NotFound: "NOT_FOUND",
	codes.AlreadyExists: "ALREADY_EXISTS", codes.PermissionDenied: "PERMISSION_DENIED",
	codes.ResourceExhausted: "RESOURCE_EXHAUSTED", codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Unavailable: "UNAVAILABLE", codes.Unimplemented: "UNIMPLEMENTED", codes.DeadlineExceeded: "DEADLINE_EXCEEDED",
	codes.Internal: "INTERNAL", codes.Unknown: "UNKNOWN",
}

func main() {
	var err error
	counting := option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(acknowledgeCalls.count))
	if client, err = pubsub.NewClient(context.Background(), project, counting); err != nil {
		fmt.Fprintln(os.Stderr, "behaviours:", err)
		os.Exit(1)
	}
	left := make(chan string, len(os.Args))
	for _, name := range os.Args[1:] {
		left <- name
	}
	close(left)
	var all sync.WaitGroup
	for range atOnce {
		all.Add(1)
		go func() {
			defer all.Done()
			for name := range left {
				run(name)
			}
		}()
	}
	all.Wait()
}

var printing sync.Mutex

func run(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	result, evidence, err := "unknown", "", error(nil)
	if show, there := behaviours[name]; there {
		result, evidence, err = show(ctx, name)
	}
	if err != nil {
		var not errNotServed
		result, evidence = codeName(err), err.Error()
		if errors.As(err, &not) || status.Code(err) == codes.Unimplemented {
			result = "not served"
		}
	}
	line, _ := json.Marshal(map[string]string{
		"client": "go", "version": version(), "behaviour": name, "result": result, "evidence": evidence})
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(string(line))
}

// version is the library's, as it was linked.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "cloud.google.com/go/pubsub/v2" {
			return module.Version[1:]
		}
	}
	return "unknown"
}

// control asks who runs us for something that a client cannot do, such as a
// restart of the broker.
func control(path, want string) error {
	answer, err := http.Post(os.Getenv("HOPGAP_CONTROL")+path, "", nil)
	if err != nil {
		return errNotServed{err.Error()}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if string(text) != want {
		return errNotServed{string(text)}
	}
	return nil
}

// counter knows how many Acknowledge calls left for each subscription.
type counter struct {
	lock  sync.Mutex
	calls map[string]int
}

var acknowledgeCalls = counter{calls: map[string]int{}}

func (c *counter) of(subscription string) int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.calls[subscription]
}

func (c *counter) count(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
	call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if ack, is := request.(*pubsubpb.AcknowledgeRequest); is {
		c.lock.Lock()
		c.calls[ack.Subscription]++
		c.lock.Unlock()
	}
	return call(ctx, method, request, reply, connection, options...)
}
