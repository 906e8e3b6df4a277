package serve

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

func TestCollectionNames(t *testing.T) {
	for dir, want := range map[string]string{"photos.index": "photos", "a b/ä.index": "_", "../x/": "x",
		".hidden":                "_.hidden",
		strings.Repeat("a", 200): strings.Repeat("a", 100)} {
		if have := CollectionName(dir); have != want || !collectionNameForm.MatchString(have) {
			t.Errorf("%s is called %s, want %s", dir, have, want)
		}
	}
}

// What is left out of the limits is as their comments say; what is given stays.
func TestDefaultLimits(t *testing.T) {
	standard := Limits{Body: 32 << 20, Pixels: 180_000_000, Items: 1000, K: 1000, Rate: 50, Burst: 100, Concurrent: 64,
		Connections: 1024, ConnectionsPerSender: 256, Memory: budget.Limit() / 2, Time: 30 * time.Second,
		Drain: 20 * time.Second}
	if got := (Limits{}).withDefaults(); got != standard {
		t.Errorf("%+v, want %+v", got, standard)
	}
	given := Limits{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if got := given.withDefaults(); got != given {
		t.Errorf("%+v, want %+v", got, given)
	}
	for rate, want := range map[float64]int{0.25: 1, 0.5: 1, 1: 2, 1.5: 3, -1: 1} {
		if got := (Limits{Rate: rate}).withDefaults().Burst; got != want {
			t.Errorf("%g requests a second: %d at once, want %d", rate, got, want)
		}
	}
	for connections, want := range map[int]int{8: 8, 16: 16, 17: 16, 64: 16, 68: 17, 4096: 1024} {
		if got := (Limits{Connections: connections}).withDefaults().ConnectionsPerSender; got != want {
			t.Errorf("of %d connections %d of one sender, want %d", connections, got, want)
		}
	}
}

// No limit may be negative, except the rate: a negative rate means no limit.
func TestNegativeLimits(t *testing.T) {
	for i := range reflect.TypeFor[Limits]().NumField() {
		var l Limits
		name := reflect.TypeFor[Limits]().Field(i).Name
		if err := l.check(); err != nil {
			t.Error(err)
		}
		v := reflect.ValueOf(&l).Elem().Field(i)
		if v.Kind() == reflect.Float64 {
			v.SetFloat(-1)
		} else {
			v.SetInt(-1)
		}
		err := l.check()
		if name == "Rate" {
			if err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "limit "+name+" is -1") {
			t.Errorf("%s of -1: %v", name, err)
		}
	}
}
