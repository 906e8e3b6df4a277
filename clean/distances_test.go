package clean

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// rowsOnLine has a row of one coordinate for each place.
func rowsOnLine(places ...float32) *matrix.Dense { return matrix.FromSlice(len(places), 1, places) }

// nearestBySorting are the k rows nearest to row i, by sorting all.
func nearestBySorting(x *matrix.Dense, i, k int) (rows []int, distance []float64) {
	var other []int
	of := make([]float64, x.Rows)
	for j := range x.Rows {
		for c, v := range x.Row(j) {
			of[j] += (float64(v) - float64(x.Row(i)[c])) * (float64(v) - float64(x.Row(i)[c]))
		}
		of[j] = math.Sqrt(of[j])
		if j != i {
			other = append(other, j)
		}
	}
	slices.SortStableFunc(other, func(a, b int) int { return cmp.Compare(of[a], of[b]) })
	for _, j := range other[:k] {
		rows, distance = append(rows, j), append(distance, of[j])
	}
	return rows, distance
}

// Outliers are what the definition says, row by row.
func TestPlainOutliers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 21))
	x := matrix.New(40, 2)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	copy(x.Row(7), []float32{9, 9})
	copy(x.Row(30), []float32{-6, 5})
	for _, k := range []int{0, 3} {
		used := k
		if k == 0 {
			used = 10
		}
		far := make([]float64, 40)
		for i := range far {
			_, d := nearestBySorting(x, i, used)
			for _, v := range d {
				far[i] += v / float64(used)
			}
		}
		var all []float64
		times := make([]float64, 40)
		for i := range times {
			rows, _ := nearestBySorting(x, i, used)
			var theirs float64
			for _, j := range rows {
				theirs += far[j] / float64(used)
			}
			times[i] = far[i] / theirs
			all = append(all, math.Log(times[i]))
		}
		sorted := slices.Sorted(slices.Values(all))
		middle := (sorted[19] + sorted[20]) / 2
		var off []float64
		for _, v := range all {
			off = append(off, math.Abs(v-middle))
		}
		slices.Sort(off)
		sd := 1.4826 * (off[19] + off[20]) / 2
		tail := func(i int) float64 { return math.Erfc((all[i]-middle)/(sd*math.Sqrt2)) / 2 }
		rate := func(i int) float64 { // the least p n / rank of those at least as unlikely to be chance
			least := 1.0
			for j := range all {
				rank := 0.0
				for l := range all {
					if all[l] >= all[j] {
						rank++
					}
				}
				if all[j] <= all[i] {
					least = min(least, tail(j)*40/rank)
				}
			}
			return least
		}
		for _, level := range []float64{0.001, 0.05, 0.5} {
			odd, err := FindOutliers(t.Context(), x, k, level)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for i := range all {
				if rate(i) <= level && times[i] >= 1.5 {
					want++
				}
			}
			if len(odd) != want || want == 0 || odd[0].Item != 7 {
				t.Fatalf("k %d at %g: %d of %d: %+v", k, level, len(odd), want, odd)
			}
			for r, o := range odd {
				requireNear(t, "score", o.Score, 1-rate(o.Item), 1e-6)
				requireNear(t, "times", o.DistanceRatio, times[o.Item], 1e-4)
				if r > 0 && all[o.Item] > all[odd[r-1].Item] {
					t.Errorf("%+v after %+v", o, odd[r-1])
				}
			}
		}
	}
}

// Where distances are even, an item a little farther out than the others is not odd, however
// unlikely that is by the spread of theirs; one clearly farther is. Twelve corners, each as far from
// every other, are all alike.
func TestOutlierOfEvenDistances(t *testing.T) {
	for _, c := range []struct {
		at   float32
		want int
	}{{101, 0}, {101.5, 0}, {115, 1}} {
		x := matrix.New(102, 1)
		for i := range 101 {
			x.Row(i)[0] = float32(i)
		}
		x.Row(101)[0] = c.at
		odd, err := FindOutliers(t.Context(), x, 4, 0.05)
		if err != nil || len(odd) != c.want || c.want == 1 && (odd[0].Item != 101 || odd[0].DistanceRatio < 2) {
			t.Errorf("at %g: %+v, %v", c.at, odd, err)
		}
	}
	corners := matrix.New(12, 12)
	for i := range 12 {
		corners.Row(i)[i] = 1
	}
	corners.Row(3)[3] = 1.01
	if odd, err := FindOutliers(t.Context(), corners, 0, 0.05); err != nil || len(odd) > 0 {
		t.Errorf("corners: %+v, %v", odd, err)
	}
}

// Beside copies of each other, an item at any distance is odd; one of the copies is not.
func TestOutlierBesideCopies(t *testing.T) {
	odd, err := FindOutliers(t.Context(), rowsOnLine(1, 1, 1, 1, 1, 1, 1, 9), 3, 0.05)
	if err != nil || len(odd) != 1 || odd[0].Item != 7 || odd[0].DistanceRatio != math.MaxFloat64 || odd[0].Score != 1 {
		t.Errorf("%+v, %v", odd, err)
	}
	for n := range 3 { // too few to tell
		if odd, err := FindOutliers(t.Context(), matrix.New(n, 1), 0, 0.05); err != nil || odd != nil {
			t.Errorf("%d rows: %v, %v", n, odd, err)
		}
		if pairs, err := FindOverlaps(t.Context(), matrix.New(n, 1), make([]int64, n), 0, 0); err != nil ||
			pairs != nil {
			t.Errorf("%d rows: %v, %v", n, pairs, err)
		}
	}
	if odd, err := FindOutliers(t.Context(), rowsOnLine(0, 1, 9), 0, 0.99); err != nil { // of three, two are the others
		t.Errorf("%v, %v", odd, err)
	}
	for _, level := range []float64{-0.1, 0, 1, 1.5, math.NaN()} {
		if _, err := FindOutliers(t.Context(), rowsOnLine(0, 1, 9), 0, level); err == nil ||
			!strings.Contains(err.Error(), "must be above 0 and below 1") {
			t.Errorf("level %g: %v", level, err)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, v := range map[float64][]float64{5: {5}, 2: {3, 1}, 3: {9, 3, 1}, 4: {9, 1, 3, 5}} {
		requireNear(t, "median", median(v), want, 0)
	}
}

// Mixing is the share of nearest neighbours in the other class over that which chance gives.
func TestPlainOverlaps(t *testing.T) {
	// Of classes 5 and 8 on a line the nearest neighbours of the first four are of the
	// other class, those of the last four of their own.
	x := rowsOnLine(0, 1, 10, 11.5, 20, 21, 30, 31.5, 100, 101, 102.5)
	labels := []int64{5, 8, 5, 8, 5, 5, 8, 8, 2, 2, 2}
	got, err := FindOverlaps(t.Context(), x, labels, 1, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	// 4 of 8 cross, of 2 * 4 * 4 / (8 * 7) by chance.
	chance, sd := 32./56, 1.96*math.Sqrt(0.25/8)
	if len(got) != 1 || got[0].A != 5 || got[0].B != 8 {
		t.Fatalf("%+v", got)
	}
	requireNear(t, "mixing", got[0].Mixing, 0.5/chance, 1e-12)
	requireNear(t, "low", got[0].Low, (0.5-sd)/chance, 1e-12)
	requireNear(t, "high", got[0].High, (0.5+sd)/chance, 1e-12)
	if got, err = FindOverlaps(t.Context(), x, labels, 1, 0.5/chance); err != nil || len(got) != 1 { // at least
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = FindOverlaps(t.Context(), x, labels, 1, 0.9); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	// All others are among ten neighbours, so that classes apart are looked at, too.
	if got, err = FindOverlaps(t.Context(), x, labels, 0, 0); err != nil || len(got) != 3 || got[0].B != 8 ||
		got[1].A != 2 || got[1].B != 5 || got[1].Mixing != 0 || got[1].Low != 0 || got[2].B != 8 {
		t.Errorf("%+v, %v", got, err)
	}
	// A class of one item is of no pair; a class of two is.
	few := []int64{1, 2, 1, 1, 3, 3, 1, 1, 1, 1, 1}
	if got, err = FindOverlaps(t.Context(), x, few, 0, 0); err != nil || len(got) != 1 || got[0].B != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Equally mixed pairs come in the order of their labels.
func TestOverlapOrder(t *testing.T) {
	var places []float32
	var labels []int64
	for k, pair := range [][2]int64{{4, 9}, {1, 7}, {4, 6}} {
		at := float32(100 * k)
		places = append(places, at, at+1, at+10, at+11)
		labels = append(labels, pair[0], pair[1], pair[0], pair[1])
	}
	got, err := FindOverlaps(t.Context(), rowsOnLine(places...), labels, 1, 0.1)
	var order []int64
	for _, p := range got {
		order = append(order, p.A, p.B)
	}
	if want := []int64{1, 7, 4, 6, 4, 9}; err != nil || !slices.Equal(order, want) {
		t.Errorf("%+v, %v", got, err)
	}
}
