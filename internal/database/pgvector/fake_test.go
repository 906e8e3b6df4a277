package pgvector

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// fakeServer is a server of PostgreSQL's protocol. It keeps nothing: a test says what it answers
// to a statement, and asks which statements came, with their arguments written into them.
type fakeServer struct {
	url string

	mu       sync.Mutex
	answers  []answer
	received []string // statements, and what was copied
	params   []map[string]string
}

// answer is what a statement that has a text in it is answered.
type answer struct {
	contains string
	types    []uint32 // of the columns
	rows     [][]string
	tag      string
	failed   pgproto3.ErrorResponse // if it has a Code
}

// Types of columns.
const (
	text, int8, float8, jsonb = 25, 20, 701, 3802
)

// newFake starts a server, which ends with the test.
func newFake(t *testing.T, answers ...answer) *fakeServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	f := &fakeServer{answers: answers, url: "postgres://kindred:s3cret@" + l.Addr().String() +
		"/shop?sslmode=disable&default_query_exec_mode=simple_protocol&pool_max_conns=1"}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return f
}

// setAnswers sets what is answered from now on, and forgets what came.
func (f *fakeServer) setAnswers(answers ...answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers, f.received = answers, nil
}

// newRequests returns what came since it was called last.
func (f *fakeServer) newRequests() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := strings.Join(f.received, "\n")
	f.received = nil
	return out
}

func (f *fakeServer) serve(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	m, err := b.ReceiveStartupMessage()
	start, ok := m.(*pgproto3.StartupMessage)
	if err != nil || !ok {
		return
	}
	f.mu.Lock()
	f.params = append(f.params, start.Parameters)
	f.mu.Unlock()
	b.Send(&pgproto3.AuthenticationOk{})
	for name, value := range map[string]string{"server_version": "17.0", "client_encoding": "UTF8",
		"standard_conforming_strings": "on"} {
		b.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	b.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	status, copying, copied := byte('I'), false, ""
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: status})
	more:
		if b.Flush() != nil {
			return
		}
		m, err := b.Receive()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.Query:
			switch {
			case m.String == "begin":
				status = 'T'
			case m.String == "commit" || m.String == "rollback":
				status = 'I'
			}
			if a := f.answer(m.String); a.failed.Code == "" && strings.HasPrefix(m.String, "COPY") {
				copying, copied = true, ""
				b.Send(&pgproto3.CopyInResponse{})
				goto more
			} else if a.send(b); a.failed.Code != "" && status == 'T' {
				status = 'E'
			}
		case *pgproto3.CopyData:
			copied += string(m.Data)
			goto more
		case *pgproto3.CopyDone:
			if !copying { // of a COPY that was refused
				goto more
			}
			copying = false
			f.mu.Lock()
			f.received = append(f.received, copied)
			f.mu.Unlock()
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("COPY 1")})
		default:
			return
		}
	}
}

// answer notes a statement, and says what it is answered.
func (f *fakeServer) answer(statement string) answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received = append(f.received, plain(statement))
	for _, a := range f.answers {
		if strings.Contains(statement, a.contains) {
			return a
		}
	}
	return answer{}
}

func (a *answer) send(b *pgproto3.Backend) {
	if a.failed.Code != "" {
		a.failed.Severity = "ERROR"
		b.Send(&a.failed)
		return
	}
	var d pgproto3.RowDescription
	for _, typ := range a.types {
		d.Fields = append(d.Fields, pgproto3.FieldDescription{Name: []byte("c"), DataTypeOID: typ, TypeModifier: -1})
	}
	if a.types != nil {
		b.Send(&d)
	}
	for _, r := range a.rows {
		var row pgproto3.DataRow
		for _, v := range r {
			row.Values = append(row.Values, []byte(v))
		}
		b.Send(&row)
	}
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte(a.tag)})
}

// plain is a statement without the spaces that the client puts around arguments.
func plain(statement string) string {
	words := strings.Join(strings.Fields(statement), " ")
	return strings.NewReplacer(" ,", ",", "( ", "(", " )", ")", " ::", "::").Replace(words)
}
