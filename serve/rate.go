package serve

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBuckets bounds the number of buckets. If all are in use, further senders share
// one.
const maxBuckets = 10_000

// rateLimiter limits the rate of requests by sender: each key or address has a bucket of tokens, and all
// buckets fill at the same rate.
type rateLimiter struct {
	rate  rate.Limit
	burst int

	mu       sync.Mutex
	bySender map[string]*rate.Limiter
	others   *rate.Limiter
	swept    time.Time
}

func newRateLimiter(perSecond float64, burst int) *rateLimiter {
	b := &rateLimiter{rate: rate.Limit(perSecond), burst: burst, bySender: map[string]*rate.Limiter{}}
	if perSecond < 0 {
		b.rate = rate.Inf
	}
	b.others = rate.NewLimiter(b.rate, b.burst)
	return b
}

// takeToken takes a token from who's bucket. If the bucket is empty it returns how long to wait for one.
func (b *rateLimiter) takeToken(who string, now time.Time) (wait time.Duration) {
	if b.rate == rate.Inf {
		return 0
	}
	r := b.limiterOf(who, now).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

func (b *rateLimiter) limiterOf(who string, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.bySender[who]
	if l != nil {
		return l
	}
	if len(b.bySender) >= maxBuckets {
		b.removeFull(now)
	}
	if len(b.bySender) >= maxBuckets {
		return b.others
	}
	l = rate.NewLimiter(b.rate, b.burst)
	b.bySender[who] = l
	return l
}

// removeFull removes full buckets, which equal new ones, at most once a second.
func (b *rateLimiter) removeFull(now time.Time) {
	if now.Sub(b.swept) < time.Second {
		return
	}
	b.swept = now
	for who, l := range b.bySender {
		if l.TokensAt(now) >= float64(b.burst) {
			delete(b.bySender, who)
		}
	}
}

// senderOf returns the sender that an address, with or without a port, counts for: IPv4 unchanged; for IPv6 its network
// of 64 bits, as a customer usually has at least that network.
func senderOf(remote string) string {
	ip, err := netip.ParseAddr(remote)
	if at, e := netip.ParseAddrPort(remote); e == nil {
		ip, err = at.Addr(), nil
	}
	if err != nil {
		return remote
	}
	ip = ip.Unmap()
	if ip.Is6() {
		if p, err := ip.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}
