package serve

import (
	"crypto/tls"
	"log/slog"
)

// TLS returns a configuration with the certificate and its key from PEM files, which
// are read again when they change, so that a renewed certificate needs no restart.
func TLS(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	w := &watched[*tls.Certificate]{paths: []string{certFile, keyFile}, log: log}
	w.load = func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(certFile, keyFile)
		return &c, err
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.get(), nil },
	}, nil
}
