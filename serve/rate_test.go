package serve

import (
	"fmt"
	"testing"
	"time"
)

// As many senders as there are buckets have one each, and the next ones share one.
func TestMostBuckets(t *testing.T) {
	b := newRateLimiter(1, 1)
	now := time.Unix(1000, 0)
	b.swept = now
	for i := range maxBuckets {
		if wait := b.takeToken(fmt.Sprint(i), now); wait != 0 {
			t.Fatalf("sender %d waits %v", i, wait)
		}
	}
	if b.takeToken("one more", now) != 0 || b.takeToken("another", now) == 0 || len(b.bySender) != maxBuckets {
		t.Errorf("%d buckets, or those who have none do not share one", len(b.bySender))
	}
}
