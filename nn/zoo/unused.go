package zoo

import (
	"slices"
	"strings"
)

// Unused returns those of the unexpected tensors that the network would compute with if it had
// layers for them, as a norm of queries or squeeze-and-excite blocks. Classifiers, projections and
// poolers behind the features, other towers, and what training alone uses are not among them.
func (r *ImportReport) Unused() []string {
	var out []string
	for _, name := range r.Unexpected {
		if !isOtherNetwork(name) && !slices.ContainsFunc(strings.Split(name, "."), isAfterFeatures) {
			out = append(out, name)
		}
	}
	return out
}

// isAfterFeatures tells the parts of names of tensors that do not change the features.
func isAfterFeatures(part string) bool {
	return slices.Contains(strings.Fields(`head heads head_dist classifier cls_classifier distillation_classifier fc
		last_linear pooler decoder logit_scale logit_bias position_ids text_projection visual_projection projection_head
		mask_token prototypes transformer positional_embedding attn_mask`), part)
}
