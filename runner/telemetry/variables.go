package telemetry

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Getenv returns the value of an environment variable, "" for none.
type Getenv func(name string) string

// signal is a kind of telemetry, as the names of the standard variables have it.
type signal string

const (
	traces  signal = "TRACES"
	metrics signal = "METRICS"
)

// variable returns the name of a variable of the exporters for a signal, and its value. The one of
// the signal alone goes before the one of all signals.
func (s signal) variable(getenv Getenv, suffix string) (name, value string) {
	name = "OTEL_EXPORTER_OTLP_" + string(s) + "_" + suffix
	if value := strings.TrimSpace(getenv(name)); value != "" {
		return name, value
	}
	name = "OTEL_EXPORTER_OTLP_" + suffix
	return name, strings.TrimSpace(getenv(name))
}

// isSent reports whether a signal is sent: the variables name a collector for it, and do not leave
// it out.
func (s signal) isSent(getenv Getenv) bool {
	_, endpoint := s.variable(getenv, "ENDPOINT")
	return endpoint != "" && getenv("OTEL_"+string(s)+"_EXPORTER") != "none"
}

// sent returns the signals that are sent.
func sent(getenv Getenv) (list []signal) {
	for _, s := range []signal{traces, metrics} {
		if s.isSent(getenv) {
			list = append(list, s)
		}
	}
	return list
}

// Problems returns the reasons why a run with the standard variables cannot send anything. They
// hold no value of a variable, which may be a secret.
func Problems(getenv Getenv) (list []string) {
	add := func(text string) {
		if !slices.Contains(list, text) { // of a variable for both signals
			list = append(list, text)
		}
	}
	signals := sent(getenv)
	_, ofTraces := traces.variable(getenv, "ENDPOINT")
	_, ofMetrics := metrics.variable(getenv, "ENDPOINT")
	switch {
	case len(signals) > 0:
	case cmp.Or(ofTraces, ofMetrics) == "":
		add("no variable names a collector: set OTEL_EXPORTER_OTLP_ENDPOINT to its address, such as https://collector.example:4318")
	default:
		add("nothing is left to send: OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER leave out all that has a collector")
	}
	for _, s := range signals {
		name, endpoint := s.variable(getenv, "ENDPOINT")
		if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			add(name + " is no address of a collector: write it as https://collector.example:4318")
		}
		if _, err := s.transport(getenv); err != nil {
			add(err.Error())
		}
		if name, protocol := s.variable(getenv, "PROTOCOL"); protocol == "grpc" {
			add(name + " is grpc, and telemetry is sent over HTTP: set it to http/protobuf, and the address to the collector's port for OTLP/HTTP, mostly 4318")
		}
	}
	return list
}

// transport returns the transport for a signal, with the certificates that the variables name. The
// exporters leave that to those who give them a client.
func (s signal) transport(getenv Getenv) (http.RoundTripper, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	name, authority := s.variable(getenv, "CERTIFICATE")
	if authority != "" {
		content, err := os.ReadFile(authority)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("%s names no file with certificates in PEM: correct it", name)
		}
	}
	name, own := s.variable(getenv, "CLIENT_CERTIFICATE")
	keyName, key := s.variable(getenv, "CLIENT_KEY")
	if own != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(own, key)
		if err != nil {
			return nil, fmt.Errorf("%s and %s name no files with a certificate and its key in PEM: correct them", name, keyName)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	if cmp.Or(authority, own) != "" {
		base.TLSClientConfig = config
	}
	return base, nil
}
