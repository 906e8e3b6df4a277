package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// problemKind is a kind of problem: its code, which stays the same between versions, its
// status, and its title.
type problemKind struct {
	code   string
	status int
	title  string
}

var (
	badRequest       = problemKind{"bad_request", http.StatusBadRequest, "The request cannot be understood"}
	unauthorized     = problemKind{"unauthorized", http.StatusUnauthorized, "A key is needed"}
	forbidden        = problemKind{"forbidden", http.StatusForbidden, "Not allowed"}
	notFound         = problemKind{"not_found", http.StatusNotFound, "This does not exist"}
	methodNotAllowed = problemKind{"method_not_allowed", http.StatusMethodNotAllowed, "Method not allowed"}
	slowBody         = problemKind{"timeout", http.StatusRequestTimeout, "The request arrived too slowly"}
	conflict         = problemKind{"conflict", http.StatusConflict, "This exists already"}
	outdated         = problemKind{"outdated", http.StatusGone, "This has been replaced"}
	tooLarge         = problemKind{"too_large", http.StatusRequestEntityTooLarge, "Larger than allowed"}
	badType          = problemKind{"unsupported_media_type", http.StatusUnsupportedMediaType, "Unsupported type"}
	wrongHost        = problemKind{"wrong_host", http.StatusMisdirectedRequest, "Wrong host name"}
	invalid          = problemKind{"invalid", http.StatusUnprocessableEntity, "Understood, but not possible"}
	badPicture       = problemKind{"bad_picture", http.StatusUnprocessableEntity, "The picture cannot be read"}
	rateLimited      = problemKind{"rate_limited", http.StatusTooManyRequests, "Too many requests"}
	internal         = problemKind{"internal", http.StatusInternalServerError, "The server failed"}
	overloaded       = problemKind{"overloaded", http.StatusServiceUnavailable, "Too many requests at once"}
	notReady         = problemKind{"not_ready", http.StatusServiceUnavailable, "Not ready"}
	timeLimit        = problemKind{"late", http.StatusServiceUnavailable, "Time limit exceeded"}
	diskFull         = problemKind{"disk_full", http.StatusInsufficientStorage, "No space on the disk"}
)

// problem is an error with its answer.
type problem struct {
	problemKind
	detail, fix string
	retry       time.Duration // time to wait before another try; 0: do not try again
	cause       error         // for the log
}

func (p *problem) Error() string { return p.detail }
func (p *problem) Unwrap() error { return p.cause }

// newProblem makes a problem of a kind. detail is a sentence without its full stop; fix says what
// to do.
func (k problemKind) newProblem(fix, detail string, args ...any) *problem {
	return &problem{problemKind: k, detail: escape.Message(fmt.Sprintf(detail, args...)), fix: fix}
}

func (p *problem) withRetry(d time.Duration) *problem {
	p.retry = d
	return p
}

// problemOf converts an error to its answer. It is the only place that does so.
func problemOf(err error) *problem {
	var (
		p         *problem
		missing   *store.NotFoundError
		exists    *store.ExistsError
		dimension *store.DimensionError
		filter    *store.FilterError
		item      *store.ItemError
	)
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &missing):
		p = notFound.newProblem("GET /v1/items lists the ids, and with ?like=TEXT similar ids.", "%v", missing)
	case errors.As(err, &exists):
		p = conflict.newProblem("PUT replaces an item.", "%v", exists)
	case errors.As(err, &dimension):
		p = invalid.newProblem("Send vectors made by the network of the collection; GET /v1/info has their length.",
			"%v", dimension)
	case errors.As(err, &filter):
		p = invalid.newProblem(`A filter compares columns with numbers or with texts in quotes: COLUMN < 20 and OTHER = "text".`,
			"%v", filter)
	case errors.As(err, &item):
		p = invalid.newProblem("Correct the item; nothing of the request was written.", "%v", item)
	case option.IsUsage(err):
		p = invalid.newProblem("GET /openapi.json describes the request.", "%s",
			option.Text(err, func(setting string) string {
				if setting == "neighbours" {
					return "k"
				}
				return strings.ReplaceAll(setting, "-", "_")
			}))
	case errors.Is(err, store.ErrReadOnly):
		p = forbidden.newProblem(
			"Use the program that has the index open, or start the server without its read-only option.",
			"the collection is read-only")
	case errors.Is(err, store.ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		p = diskFull.newProblem("Free space on the server's disk and send the request again; nothing was written.",
			"the disk of the server is full").withRetry(time.Minute)
	case errors.Is(err, context.DeadlineExceeded):
		p = timeLimit.newProblem("Try again, or ask for less at once.", "the server did not finish the request in "+
			"time").withRetry(time.Second)
	case errors.Is(err, context.Canceled):
		p = overloaded.newProblem("Try again.", "the client ended the request").withRetry(time.Second)
	default:
		p = internal.newProblem("See the server's log for the request's id.",
			"the server could not process the request")
	}
	p.cause = err
	return p
}

// write sends the problem.
func (p *problem) write(w http.ResponseWriter, requestID string) {
	h := w.Header()
	for _, name := range []string{"Etag", "Last-Modified", "Cache-Control", "Content-Disposition"} {
		h.Del(name) // set for the answer without the problem
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.retry+time.Second-1)/time.Second)))
	}
	if p.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="kindred"`)
	}
	body, err := json.Marshal(api.Problem{Type: "urn:kindred:problem:" + p.code, Title: p.title, Status: p.status,
		Code: p.code, Detail: p.detail, Fix: p.fix, RequestID: requestID})
	if err != nil {
		body = []byte("{}") // strings and a number can always be written
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	w.Write(body)
}
