package mirror

import (
	"maps"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/store"
)

// What a photograph says becomes columns, what it no longer says goes, and a column of a
// person's own kind stays.
func TestPutExif(t *testing.T) {
	at := time.Date(2024, 5, 1, 12, 30, 5, 0, time.UTC)
	it := store.Item{ID: "a", Columns: map[string]any{"price": 3.0}}
	photo := imaging.EXIF{Taken: at, Camera: "Acme X1", Latitude: -33.5, Longitude: 8.25, Located: true}
	PutExif(&it, &photo, nil)
	if want := map[string]any{"price": 3.0, "taken": "2024-05-01T12:30:05", "camera": "Acme X1",
		"place": "-33.500000,8.250000", "latitude": -33.5, "longitude": 8.25}; !maps.Equal(it.Columns, want) {
		t.Errorf("%v", it.Columns)
	}
	for filter, passes := range map[string]bool{`taken >= 2024-05-01`: true, `taken < 2024-05-01T12:30:05`: false,
		`taken in (2024-05-01T12:30:05, "x")`: true, `latitude < 0 and camera = "Acme X1"`: true} {
		f, err := store.ParseFilter(filter)
		if err != nil || f.Match(&it) != passes {
			t.Errorf("%s: %v", filter, err)
		}
		again, err := store.ParseFilter(f.String())
		if err != nil || again.Match(&it) != passes {
			t.Errorf("%s, written as %s: %v", filter, f, err)
		}
	}
	PutExif(&it, &imaging.EXIF{Taken: at}, []store.Column{{Name: "place", Kind: store.Number}, {Name: "camera",
		Kind: store.Text}})
	if want := map[string]any{"price": 3.0, "taken": "2024-05-01T12:30:05",
		"place": "-33.500000,8.250000"}; !maps.Equal(it.Columns, want) {
		t.Errorf("%v", it.Columns)
	}
	plain := store.Item{ID: "b"}
	if PutExif(&plain, &imaging.EXIF{}, nil); plain.Columns != nil {
		t.Errorf("%v", plain.Columns)
	}
}
