// Package sink receives OTLP spans over gRPC.
package sink

import (
	"context"
	"net"
	"sync"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// Serve takes spans on listener in the background until stop is called; each
// request goes to take, one at a time.
func Serve(listener net.Listener, take func(*collector.ExportTraceServiceRequest) error) (stop func()) {
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, &service{take: take})
	go server.Serve(listener)
	return server.GracefulStop
}

type service struct {
	collector.UnimplementedTraceServiceServer
	one  sync.Mutex
	take func(*collector.ExportTraceServiceRequest) error
}

func (s *service) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.one.Lock()
	defer s.one.Unlock()
	return &collector.ExportTraceServiceResponse{}, s.take(request)
}
