// Command admin makes the topics and subscriptions of chains and publishes
// into them on a fixed schedule, with the official client.
//
//	admin setup   -project P [-prefix X] [-hops 3] ARM…
//	admin publish -project P [-prefix X] [-rate 1] [-messages 31] ARM…
//	admin collect -listen 127.0.0.1:4317 -out FILE
//
// An arm is std or eos: its topics are PREFIXarm-hop1 and so on, each with one
// subscription "TOPIC-sub", exactly-once for eos. collect writes the OTLP spans
// that it gets to FILE, a line of JSON per request, until SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hopgap/interop/go/sink"
)

type plan struct {
	project, prefix string
	hops, messages  int
	rate            float64
	arms            []string
}

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "admin:", err)
		os.Exit(1)
	}
}

func command(arguments []string) error {
	if len(arguments) == 0 {
		return errors.New("setup, publish or collect?")
	}
	var p plan
	flags := flag.NewFlagSet("admin "+arguments[0], flag.ExitOnError)
	flags.StringVar(&p.project, "project", "", "project of the topics")
	flags.StringVar(&p.prefix, "prefix", "", "what the names of topics begin with")
	flags.IntVar(&p.hops, "hops", 3, "topics per arm")
	flags.Float64Var(&p.rate, "rate", 1, "messages a second per arm")
	flags.IntVar(&p.messages, "messages", 31, "messages per arm")
	listen := flags.String("listen", "127.0.0.1:4317", "where collect takes spans")
	out := flags.String("out", "", "the file that collect writes")
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	if arguments[0] == "collect" {
		return collect(*listen, *out)
	}
	p.arms = flags.Args()
	if p.project == "" || len(p.arms) == 0 {
		return errors.New("needs -project and an arm (std, eos)")
	}
	for _, arm := range p.arms {
		if arm != "std" && arm != "eos" {
			return fmt.Errorf("arm %q is neither std nor eos", arm)
		}
	}
	switch arguments[0] {
	case "setup":
		return setup(p)
	case "publish":
		return publish(p)
	}
	return fmt.Errorf("%q is none of setup, publish, collect", arguments[0])
}

func (p plan) topic(arm string, hop int) string {
	return fmt.Sprintf("projects/%s/topics/%s%s-hop%d", p.project, p.prefix, arm, hop)
}

// setup makes what is not there yet.
func setup(p plan) error {
	background := context.Background()
	client, err := pubsub.NewClient(background, p.project)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, arm := range p.arms {
		for hop := 1; hop <= p.hops; hop++ {
			topic := p.topic(arm, hop)
			_, err := client.TopicAdminClient.CreateTopic(background, &pubsubpb.Topic{Name: topic})
			if err != nil && status.Code(err) != codes.AlreadyExists {
				return err
			}
			_, err = client.SubscriptionAdminClient.CreateSubscription(background, &pubsubpb.Subscription{
				Name:                      strings.Replace(topic, "/topics/", "/subscriptions/", 1) + "-sub",
				Topic:                     topic,
				EnableExactlyOnceDelivery: arm == "eos",
			})
			if err != nil && status.Code(err) != codes.AlreadyExists {
				return err
			}
		}
	}
	return nil
}

// publish sends a message of every arm at each slot of the schedule, whether
// or not the earlier ones have their results.
func publish(p plan) error {
	background := context.Background()
	exporter, err := otlptracegrpc.New(background)
	if err != nil {
		return err
	}
	provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.AlwaysSample()), sdk.WithBatcher(exporter))
	otel.SetTracerProvider(provider)
	client, err := pubsub.NewClientWithConfig(background, p.project, &pubsub.ClientConfig{EnableOpenTelemetryTracing: true})
	if err != nil {
		return err
	}
	publishers := map[string]*pubsub.Publisher{}
	for _, arm := range p.arms {
		publishers[arm] = client.Publisher(p.topic(arm, 1))
	}
	start := time.Now().Add(100 * time.Millisecond)
	var results []*pubsub.PublishResult
	for slot := range p.messages {
		time.Sleep(time.Until(start.Add(time.Duration(float64(slot) / p.rate * float64(time.Second)))))
		for turn := range p.arms {
			arm := p.arms[(slot+turn)%len(p.arms)]
			results = append(results, publishers[arm].Publish(background, &pubsub.Message{
				Data:       []byte("hello"),
				Attributes: map[string]string{"hopgap_draw": fmt.Sprintf("1.%d", slot), "arm": arm},
			}))
		}
	}
	for _, result := range results {
		if _, err := result.Get(background); err != nil {
			return err
		}
	}
	return errors.Join(provider.Shutdown(background), client.Close())
}

func collect(listen, out string) error {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	stop := sink.Serve(listener, func(request *collector.ExportTraceServiceRequest) error {
		line, err := sink.JSONLine(request)
		if err != nil {
			return err
		}
		_, err = file.Write(line)
		return err
	})
	stopped, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()
	<-stopped.Done()
	stop()
	return file.Close()
}
