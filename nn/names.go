package nn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rename finds the parameter that a tensor of another toolkit stands for: by
// f if there is one; else by the name itself, as it is or without the prefixes
// that wrappers put before it, as torchvision or as timm spell it. A name that
// leads nowhere is returned unchanged.
func (e *Net) rename(name string, f func(string) string) string {
	if f != nil {
		return f(name)
	}
	for rest := name; ; {
		if e.byName[rest] != nil {
			return rest
		}
		if other := timmMobileNet(rest); e.byName[other] != nil {
			return other
		}
		prefix, after, found := strings.Cut(rest, ".")
		if !found || !slices.Contains([]string{"module", "model", "backbone", "state_dict"}, prefix) {
			return name
		}
		rest = after
	}
}

// timmMobileNet translates timm's names of MobileNet v2 to torchvision's, or
// returns "". timm counts blocks within seven stages (blocks.STAGE.BLOCK) and
// names the parts of a block; torchvision counts both.
func timmMobileNet(name string) string {
	part := strings.Split(name, ".")
	last := part[len(part)-1]
	top := map[string]string{"conv_stem": "features.0.0", "bn1": "features.0.1", "conv_head": "features.18.0",
		"bn2": "features.18.1", "classifier": "classifier.1"}
	if len(part) == 2 && top[part[0]] != "" {
		return top[part[0]] + "." + last
	}
	if len(part) != 5 || part[0] != "blocks" {
		return ""
	}
	stage, err1 := strconv.Atoi(part[1])
	block, err2 := strconv.Atoi(part[2])
	first := [...]int{1, 2, 4, 7, 11, 14, 17, 18}
	if err1 != nil || err2 != nil || stage < 0 || stage > 6 || block < 0 || block >= first[stage+1]-first[stage] {
		return ""
	}
	inner := map[string]string{"conv_pw": "0.0", "bn1": "0.1", "conv_dw": "1.0", "bn2": "1.1", "conv_pwl": "2",
		"bn3": "3"}
	if stage == 0 { // does not expand
		inner = map[string]string{"conv_dw": "0.0", "bn1": "0.1", "conv_pw": "1", "bn2": "2"}
	}
	if inner[part[3]] == "" {
		return ""
	}
	return fmt.Sprintf("features.%d.conv.%s.%s", first[stage]+block, inner[part[3]], last)
}
