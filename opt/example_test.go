package opt_test

import (
	"encoding/json"
	"fmt"

	"github.com/kindred-ml/kindred/opt"
)

func Example() {
	type Hinge struct {
		Margin opt.Float `json:"margin"` // default 0.2
	}
	var fromFile Hinge
	err := json.Unmarshal([]byte(`{"margin": 0.5}`), &fromFile)
	for _, h := range []Hinge{{}, {Margin: opt.Of(0)}, fromFile} {
		fmt.Println(h.Margin, "means", h.Margin.Or(0.2))
	}
	fmt.Println(err)
	// Output:
	// default means 0.2
	// 0 means 0
	// 0.5 means 0.5
	// <nil>
}
