package serve

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
)

// LoadTLS returns a configuration with the certificate and its key from PEM files. The files are
// reloaded when they change, so a renewed certificate needs no restart.
func LoadTLS(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	w := &watchedFiles[*tls.Certificate]{paths: []string{certFile, keyFile}, maxBytes: maxWatchedBytes, log: log}
	w.load = func(files []fileContent) (*tls.Certificate, error) {
		if err := cmp.Or(files[0].err, files[1].err); err != nil {
			return nil, err
		}
		c, err := tls.X509KeyPair(files[0].text, files[1].text)
		if err != nil {
			return nil, fmt.Errorf("certificate %s and key %s: %w", certFile, keyFile, err)
		}
		return &c, nil
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
