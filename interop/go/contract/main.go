// Command contract checks that a program keeps docs/worker-contract.md.
//
//	contract -hopgap build/hopgap [-quiet 70s] [-only WORD] [-together 14] CMD [ARG…]
//
// It starts `hopgap serve`, makes topics and subscriptions, runs CMD as the
// contract says, and prints a line per scenario: standard and exactly-once
// each. Exit 0: all kept; 1: not; 2: could not be tried.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

func main() {
	hopgap := flag.String("hopgap", "build/hopgap", "the program whose broker is used")
	quiet := flag.Duration("quiet", 70*time.Second, "how long nothing may come again: longer than a lease")
	only := flag.String("only", "", "only scenarios with this in their names")
	together := flag.Int("together", 14, "how many scenarios run at a time: fewer, where a runtime starts slowly")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "contract: which command is the worker?")
		os.Exit(2)
	}
	failed, err := check(*hopgap, *quiet, *only, max(1, *together), flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func check(hopgap string, quiet time.Duration, only string, together int, command []string) (failed int, err error) {
	spans, err := openSpanBook()
	if err != nil {
		return 0, err
	}
	b, err := startBroker(hopgap)
	if err != nil {
		return 0, err
	}
	defer b.stop()
	shared := &bench{broker: b, spans: spans, command: command, quiet: quiet}

	var all sync.WaitGroup
	var lock sync.Mutex
	passed := 0
	room := make(chan struct{}, together)
	for number, s := range scenarios {
		for _, exactlyOnce := range []bool{false, true} {
			kind := map[bool]string{false: "std", true: "eos"}[exactlyOnce]
			if !strings.Contains(s.name, only) {
				continue
			}
			all.Add(1)
			go func() {
				defer all.Done()
				room <- struct{}{}
				defer func() { <-room }()
				err := judge(shared, s, fmt.Sprintf("%s-s%d", kind, number), exactlyOnce)
				lock.Lock()
				defer lock.Unlock()
				if err == nil {
					passed++
					fmt.Printf("contract: %s, %s: ok\n", kind, s.name)
				} else {
					failed++
					fmt.Printf("contract: %s, %s: FAILED: %v\n", kind, s.name, err)
				}
			}()
		}
	}
	all.Wait()
	if passed+failed == 0 {
		return 0, fmt.Errorf("no scenario has %q in its name", only)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	return failed, nil
}

func judge(shared *bench, s scenario, name string, exactlyOnce bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	h, err := shared.newHop(ctx, name, exactlyOnce)
	if err != nil {
		return err
	}
	defer func() { h.out1.stop() }()
	return s.run(ctx, h)
}
