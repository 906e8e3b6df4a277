package run

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzTiming reads timing.csv; what is read is written and read again alike.
func FuzzTiming(f *testing.F) {
	f.Add([]byte(timingHeader+"1,0.500,0.100,40,80.0\n2,0.500,0.100,40,80.0\n"), 5)
	f.Add([]byte("1,1e300,nan,-1,inf\n1,inf,0,0,0\n"), 1)
	f.Add([]byte("\ufeff1,1,1,1,1\r\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, epochs int) {
		list := parseTiming(bytes.NewReader(text), epochs)
		last := 0
		for _, l := range list {
			if l.epoch <= last || l.epoch > epochs || l.train < 0 || l.eval < 0 || l.images < 0 {
				t.Fatalf("%+v after epoch %d of %d", l, last, epochs)
			}
			last = l.epoch
		}
		var b, c bytes.Buffer
		if err := writeTiming(&b, list); err != nil {
			t.Fatal(err)
		}
		again := parseTiming(bytes.NewReader(b.Bytes()), epochs)
		if err := writeTiming(&c, again); err != nil || len(again) != len(list) {
			t.Fatalf("%d lines became %d (%v)", len(list), len(again), err)
		}
	})
}

func TestTimingLeavesOutWhatMakesNoSense(t *testing.T) {
	text := timingHeader + "1,1.5,0.25,40,80.0\n1,1,1,1,1\n2,nan,1,1,1\n3,inf,1,1,1\n4,-1,1,1,1\n5,1,-1,1,1\n" +
		"6,1,1,-1,1\n7,1,1000000000,1,1\n8,1000000000,1,1,1\n9,1,1,1\n10,0,0,0,0\n11,1,1,1,1\n"
	list := parseTiming(strings.NewReader(text), 10)
	if len(list) != 2 || list[0].epoch != 1 || list[0].train.Seconds() != 1.5 || list[0].eval.Seconds() != 0.25 ||
		list[0].images != 40 || list[1].epoch != 10 {
		t.Errorf("%+v", list)
	}
}

// FuzzTables reads metrics.csv and config.yaml. Neither may panic, and columns have
// one length.
func FuzzTables(f *testing.F) {
	f.Add([]byte("data: {name: mnist, size: 28}\neval: {recall: [1, 5]}\n"),
		[]byte("epoch,loss,test_recall@1\n1,0.5,\n2,0.25,1\n"))
	f.Add([]byte("a: [1, {b: 2}]\nc:\n"), []byte("a,b\n1,\n"))
	f.Add([]byte("- 1"), []byte("a\n\"\n"))
	f.Fuzz(func(t *testing.T, config, metrics []byte) {
		_, _ = parseSettings(config)
		table, err := parseTable(bytes.NewReader(metrics))
		if err != nil {
			return
		}
		for _, c := range table.Columns {
			if len(table.Values[c]) != len(table.Values[table.Columns[0]]) {
				t.Errorf("columns of %d and %d values", len(table.Values[c]), len(table.Values[table.Columns[0]]))
			}
		}
	})
}
