package queue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// certificates writes, as PEM files, an authority and what it signed for the address
// of servers and clients on this machine.
func certificates(t *testing.T) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sign := func(serial int64, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: parent == nil,
			BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
				x509.ExtKeyUsageClientAuth}}
		if parent == nil {
			parent, by = c, own
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &own.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
		return c, own
	}
	root, rootKey := sign(1, nil, nil)
	leaf, leafKey := sign(2, root, rootKey)
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	return write("ca.pem", "CERTIFICATE", root.Raw), write("cert.pem", "CERTIFICATE", leaf.Raw),
		write("key.pem", "PRIVATE KEY", der)
}

// startServer starts a server with these options and JetStream.
func startServer(t *testing.T, o *server.Options) string {
	t.Helper()
	o.Host, o.Port, o.JetStream, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", -1, true, t.TempDir(), true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	return strings.TrimPrefix(strings.TrimPrefix(s.ClientURL(), "nats://"), "tls://")
}

// refused connects with o, which must fail with a word that leads on.
func refused(t *testing.T, o Options, word string) {
	t.Helper()
	q, err := Connect(t.Context(), o)
	if err == nil {
		q.Close()
	}
	if err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("%+v: %v, want %q", o, err, word)
	}
}

// TestTLS: a server that shows a certificate and asks for one.
func TestTLS(t *testing.T) {
	ca, cert, key := certificates(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	at := startServer(t, &server.Options{Username: "me", Password: "secret", TLS: true, TLSTimeout: 10,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, MinVersion: tls.VersionTLS12,
			ClientAuth: tls.RequireAndVerifyClientCert}})
	refused(t, Options{URL: "tls://me:secret@" + at}, "queue.Options.CA")
	refused(t, Options{URL: "tls://me:secret@" + at, CA: ca}, "queue.Options.Cert")
	refused(t, Options{URL: "tls://me:wrong@" + at, CA: ca, Cert: cert, Key: key}, "give a user or a token")
	refused(t, Options{URL: "tls://me:secret@" + at, CA: ca, Cert: cert, Key: ca}, "key")
	q := connect(t, Options{URL: "tls://me:secret@" + at, CA: ca, Cert: cert, Key: key})
	work(t, &Worker{Queue: q, Kinds: kinds()})
	if _, err := q.Run(t.Context(), list(t, "chain", chain{Seed: 1, Steps: 1})); err != nil {
		t.Error(err)
	}
}

// TestCredentials: a server whose accounts an operator has signed lets in who has a
// user's file of credentials.
func TestCredentials(t *testing.T) {
	pair := func(create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		k, err := create()
		if err != nil {
			t.Fatal(err)
		}
		public, err := k.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return k, public
	}
	operator, operatorID := pair(nkeys.CreateOperator)
	_, systemID := pair(nkeys.CreateAccount)
	account, accountID := pair(nkeys.CreateAccount)
	user, userID := pair(nkeys.CreateUser)
	sign := func(claims interface {
		Encode(nkeys.KeyPair) (string, error)
	}, by nkeys.KeyPair) string {
		text, err := claims.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	o := jwt.NewOperatorClaims(operatorID)
	o.SystemAccount = systemID
	sign(o, operator)
	accounts := &server.MemAccResolver{}
	for _, id := range []string{systemID, accountID} {
		a := jwt.NewAccountClaims(id)
		if id == accountID {
			a.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1,
				Consumer: -1}
		}
		if err := accounts.Store(id, sign(a, operator)); err != nil {
			t.Fatal(err)
		}
	}
	at := startServer(t, &server.Options{TrustedOperators: []*jwt.OperatorClaims{o}, AccountResolver: accounts,
		SystemAccount: systemID})
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(sign(jwt.NewUserClaims(userID), account), seed)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "me.creds")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, Options{URL: "nats://" + at}, "queue.Options.Credentials")
	q := connect(t, Options{URL: "nats://" + at, Credentials: file})
	work(t, &Worker{Queue: q, Kinds: kinds()})
	if _, err := q.Run(t.Context(), list(t, "chain", chain{Seed: 1, Steps: 1})); err != nil {
		t.Error(err)
	}
}
