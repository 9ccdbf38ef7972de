package proxy

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
)

// BenchmarkRequest asks for 8 kB by connections that are kept: of the host itself, and through
// the proxy.
func BenchmarkRequest(b *testing.B) {
	body := make([]byte, 8<<10)
	answer := func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }
	o := newOrigin(b, answer, "http/1.1")
	direct := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: o.roots, ServerName: host}, DisableCompression: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("tcp", o.Listener.Addr().String())
		},
	}}
	s := serve(b, private, o.roots)
	full := serve(b, Rules{Hosts: private.Hosts, Private: true, Full: true}, nil).client(false)
	full.Transport.(*http.Transport).TLSClientConfig.RootCAs = o.roots
	single := s.client(false) // a connection for each request
	single.Transport.(*http.Transport).DisableKeepAlives = true
	for _, test := range []struct {
		name   string
		client *http.Client
	}{{"direct", direct}, {"limited", s.client(false)}, {"single", single}, {"full", full}} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				got, err := test.client.Get(o.url("/"))
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, got.Body); n != int64(len(body)) || err != nil {
					b.Fatal(n, err)
				}
				got.Body.Close()
			}
		})
	}
	b.Cleanup(direct.CloseIdleConnections)
}
