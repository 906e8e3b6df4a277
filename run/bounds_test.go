package run

import (
	"fmt"
	"strings"
	"testing"
)

// TestBounds tries the last value that is taken and the first that is not, for
// every key with a bound. One value serves as a list where that is wanted.
func TestBounds(t *testing.T) {
	for key, c := range map[string]struct{ good, bad []string }{
		"data.name":          {[]string{"a"}, nil},
		"data.size":          {[]string{"0", "4096"}, []string{"-1", "4097"}},
		"data.channels":      {[]string{"0", "1", "3"}, []string{"-1", "2", "4"}},
		"data.fit":           {[]string{`""`, "stretch", "cover"}, []string{"fill"}},
		"data.shorter":       {[]string{"0"}, []string{"-1"}},
		"data.augment":       {[]string{"light"}, []string{"lite"}},
		"data.pixels":        {[]string{"imagenet"}, []string{"imagnet"}},
		"data.train_limit":   {[]string{"0"}, []string{"-1"}},
		"data.test_limit":    {[]string{"0"}, []string{"-1"}},
		"network.dim":        {[]string{"0", "1"}, []string{"-1"}},
		"network.width":      {[]string{"0"}, []string{"-1"}},
		"network.multiple":   {[]string{"0"}, []string{"-0.1"}},
		"network.dropout":    {[]string{"0", "0.99"}, []string{"-0.1", "1"}},
		"sample.classes":     {[]string{"0"}, []string{"-1"}},
		"sample.per_class":   {[]string{"0"}, []string{"-1"}},
		"sample.batches":     {[]string{"0"}, []string{"-1"}},
		"train.epochs":       {[]string{"0", "1"}, []string{"-1"}},
		"train.optimizer":    {[]string{"adam", "adamw", "sgd"}, []string{"lion"}},
		"train.schedule":     {[]string{"constant", "cosine"}, []string{"linear", "step"}},
		"train.lr":           {[]string{"0", "1e-9"}, []string{"-1", ".nan"}},
		"train.depth":        {[]string{"0", "0.1", "1"}, []string{"-1", "1.1"}},
		"train.patience":     {[]string{"0", "3"}, []string{"-1"}},
		"network.head":       {[]string{"pca", "random"}, []string{"x"}},
		"network.precision":  {[]string{"float32", "bfloat16", `""`}, []string{"half"}},
		"train.loss_lr":      {[]string{"0"}, []string{"-1"}},
		"train.momentum":     {[]string{"0", "0.99"}, []string{"1", "-0.1"}},
		"train.weight_decay": {[]string{"0"}, []string{"-1"}},
		"train.clip":         {[]string{"0"}, []string{"-1"}},
		"train.steps":        {[]string{"[]", "1", "[1, 2]", "[2, 2]"}, []string{"0", "[2, 1]"}},
		"train.gamma":        {[]string{"0.5"}, []string{"0"}},
		"train.warmup":       {[]string{"0"}, []string{"-1"}},
		"train.checkpoint":   {[]string{"0"}, []string{"-1"}},
		"train.groups": {[]string{"[{prefix: a, scale: 0}]"},
			[]string{"[{prefix: a, scale: -1}]", "[{scale: 1}]"}},
		"eval.recall":   {[]string{"1"}, []string{"[]", "0", "[1, 0]"}},
		"eval.every":    {[]string{"1"}, []string{"0"}},
		"eval.train":    {[]string{"-1", "0"}, []string{"-2"}},
		"eval.batch":    {[]string{"1"}, []string{"0"}},
		"eval.distance": {[]string{"cosine"}, []string{"manhattan"}},
		"eval.metrics":  {[]string{"[]", "fine:nmi", "label:map@r"}, []string{"coarse:nmi", "fine:"}},
	} {
		for _, v := range c.good {
			if _, err := Parse("f", nil, key+"="+v); err != nil {
				t.Errorf("%s=%s: %v", key, v, err)
			}
		}
		for _, v := range c.bad {
			_, err := Parse("f", nil, key+"="+v)
			if err == nil || !strings.Contains(err.Error(), key) &&
				!(key == "train.schedule" && strings.Contains(err.Error(), "train.steps")) {
				t.Errorf("%s=%s: %v", key, v, err)
			}
		}
	}
	if _, err := Parse("f", nil, "train.schedule=step", "train.steps=3"); err != nil {
		t.Error(err)
	}
	// A name with a slash is a path, unless the path itself is given beside it.
	for _, c := range []struct {
		name, path string
		good       bool
	}{{"a/b", "", true}, {"a/b", "a/b", true}, {"a/b", "c", false}, {`a\b`, "c", false}, {"a", "c", true}} {
		if _, err := Parse("f", nil, "data.name="+c.name, fmt.Sprintf("data.path=%q", c.path)); (err == nil) != c.good {
			t.Errorf("data.name=%s data.path=%s: %v", c.name, c.path, err)
		}
	}
}
