package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// exitLimit is the contract's: from SIGTERM to the exit.
const exitLimit = 30 * time.Second

// workerProcess is the worker under test. Its output is kept and shown with
// what failed.
type workerProcess struct {
	process *exec.Cmd
	output  lockedBuffer
	ended   chan struct{}
	exit    error
}

// startWorker runs the command with these variables on top of the environment,
// in a process group of its own: the command may be a shell line.
func startWorker(command []string, variables map[string]string) (*workerProcess, error) {
	w := &workerProcess{process: exec.Command(command[0], command[1:]...), ended: make(chan struct{})}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "HOPGAP_") && !strings.HasPrefix(pair, "OTEL_") {
			w.process.Env = append(w.process.Env, pair)
		}
	}
	for name, value := range variables {
		w.process.Env = append(w.process.Env, name+"="+value)
	}
	w.process.Stdout = &w.output
	w.process.Stderr = &w.output
	w.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.process.Start(); err != nil {
		return nil, err
	}
	go func() {
		w.exit = w.process.Wait()
		close(w.ended)
	}()
	return w, nil
}

func (w *workerProcess) alive() bool {
	select {
	case <-w.ended:
		return false
	default:
		return true
	}
}

// terminate sends SIGTERM to the worker and waits for its exit.
func (w *workerProcess) terminate() error {
	if !w.alive() {
		return fmt.Errorf("the worker had ended by itself (%v); it said: %s", w.exit, w.output.tail())
	}
	syscall.Kill(w.process.Process.Pid, syscall.SIGTERM)
	select {
	case <-w.ended:
	case <-time.After(exitLimit):
		w.kill()
		return fmt.Errorf("the worker still ran %v after SIGTERM; it said: %s", exitLimit, w.output.tail())
	}
	if w.exit != nil {
		return fmt.Errorf("after SIGTERM the worker ended with %v, not 0; it said: %s", w.exit, w.output.tail())
	}
	return nil
}

// kill ends it and what it started, if it still runs.
func (w *workerProcess) kill() {
	if w.alive() {
		syscall.Kill(-w.process.Process.Pid, syscall.SIGKILL)
		<-w.ended
	}
}

type lockedBuffer struct {
	lock sync.Mutex
	kept bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.kept.Write(text)
}

// tail is the last 2,000 bytes.
func (b *lockedBuffer) tail() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	text := b.kept.Bytes()
	return string(text[max(0, len(text)-2000):])
}
