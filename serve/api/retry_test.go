package api

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// A request that failed is sent again up to the given number of times, after half to all of
// a wait that doubles, or as long as the server says; what may have had an effect is not.
func TestRetry(t *testing.T) {
	c, err := NewClient("http://a", ClientOptions{})
	if err != nil || c.opt.Retries != 4 || c.opt.MaxWait != 30*time.Second {
		t.Fatalf("%+v, %v", c.opt, err)
	}
	broke := errors.New("the connection broke")
	busy := func(status int, code string, after time.Duration) error {
		return &Error{Problem: Problem{Status: status, Code: code}, RetryAfter: after}
	}
	for try, most := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
		1600 * time.Millisecond} {
		low, high := time.Hour, time.Duration(0)
		for range 200 {
			wait, again := c.retry(broke, false, try)
			if !again {
				t.Fatalf("try %d is the last", try)
			}
			low, high = min(low, wait), max(high, wait)
		}
		if low < most/2 || low > most*6/10 || high > most || high < most*9/10 {
			t.Errorf("try %d: waits from %v to %v, want from %v to %v", try, low, high, most/2, most)
		}
	}
	if _, again := c.retry(broke, false, 4); again {
		t.Error("a fifth time")
	}
	long, err := NewClient("http://a", ClientOptions{Retries: 100, MaxWait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, try := range []int{3, 20, 99} {
		if wait, again := long.retry(broke, false, try); !again || wait < 500*time.Millisecond || wait > time.Second {
			t.Errorf("try %d: %v, %v", try, wait, again)
		}
	}
	for _, k := range []struct {
		err   error
		once  bool
		again bool
		wait  time.Duration // 0: any
	}{
		{broke, true, false, 0},
		{busy(http.StatusTooManyRequests, "rate_limited", 30*time.Second), false, true, 30 * time.Second},
		{busy(http.StatusTooManyRequests, "rate_limited", 30*time.Second), true, true, 30 * time.Second},
		{busy(http.StatusTooManyRequests, "rate_limited", 31*time.Second), false, false, 0},
		{busy(http.StatusServiceUnavailable, "busy", 0), true, true, 0},
		{busy(http.StatusServiceUnavailable, "late", 0), false, true, 0},
		{busy(http.StatusServiceUnavailable, "late", 0), true, false, 0},
		{busy(http.StatusInternalServerError, "", 0), false, false, 0},
		{busy(http.StatusNotFound, "", 0), false, false, 0},
	} {
		wait, again := c.retry(k.err, k.once, 0)
		if again != k.again || again && (k.wait > 0 && wait != k.wait || wait <= 0) {
			t.Errorf("%v, once %v: %v after %v, want %v after %v", k.err, k.once, again, wait, k.again, k.wait)
		}
	}
}
