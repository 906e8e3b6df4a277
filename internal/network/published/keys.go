package published

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// keyUse says what is done with a key.
type keyUse uint8

const (
	// useIgnored keys do not change the numbers of a network that is not trained.
	useIgnored keyUse = iota
	// useObeyed keys are followed.
	useObeyed
	// useChecked keys must agree with the weights.
	useChecked
	// useRefused keys must have one of the listed values: others compute what is not supported.
	useRefused
)

// key is a row of the table.
type key struct {
	use  keyUse
	only []any // values of a refused key that change nothing; null always is one
}

// keys are the rows of one part of a file.
type keys map[string]key

// section is a part of a file in which names have one meaning.
type section string

const (
	towerSection      section = "a tower of transformers"     // vision_config, text_config, or all of config.json
	jointSection      section = "two towers of transformers"  // config.json of CLIP, SigLIP
	timmSection       section = "timm"                        // config.json of timm
	pretrainedSection section = "timm's pretrained_cfg"       //
	argsSection       section = "arguments of a network"      // model_args of timm, timm_model_kwargs of OpenCLIP
	openSection       section = "OpenCLIP"                    // open_clip_config.json
	modelSection      section = "OpenCLIP's model_cfg"        //
	visionSection     section = "OpenCLIP's vision_cfg"       //
	textSection       section = "OpenCLIP's text_cfg"         //
	imagesSection     section = "OpenCLIP's preprocess_cfg"   //
	processorSection  section = "Hugging Face's preprocessor" // preprocessor_config.json
)

// with adds rows for the names in a text.
func (k keys) with(what keyUse, names string, only ...any) keys {
	for _, name := range strings.Fields(names) {
		k[name] = key{what, only}
	}
	return k
}

// tableOf returns the rows of a section: what transformers 4 and 5, timm 1 and OpenCLIP 3 write.
func tableOf(s section) keys {
	switch s {
	case towerSection:
		return towerKeys()
	case jointSection:
		return commonKeys().with(useObeyed, "model_type vision_config text_config vision_config_dict text_config_dict").
			with(useIgnored, `logit_scale_init_value logit_bias_init_value initializer_factor initializer_range
				projection_dim`)
	case timmSection:
		return commonKeys().with(useObeyed, "architecture global_pool pretrained_cfg model_args model_type").
			with(useIgnored, `
			num_features label_names label_descriptions labels tags initializer_range do_pooling license
			library_name`)
	case pretrainedSection:
		return keys{}.with(useObeyed, "mean std input_size crop_pct crop_mode interpolation").
			with(useIgnored, `
			url file state_dict hf_hub_id hf_hub_filename source architecture tag custom_load test_input_size
			min_input_size fixed_input_size test_crop_pct num_classes label_offset label_names
			label_descriptions pool_size test_pool_size first_conv classifier license description origin_url
			paper_name paper_ids notes pool_mode dynamic_img_size`)
	case argsSection:
		return keys{}.with(useObeyed, "num_heads act_layer global_pool").
			with(useChecked, "embed_dim depth patch_size reg_tokens num_reg_tokens mlp_ratio in_chans img_size").
			with(useRefused, "qkv_bias", true).with(useRefused, "class_token", true).with(useRefused, "norm_layer").
			with(useRefused, "fc_norm", false).with(useRefused, "mlp_layer").with(useRefused, "pos_embed", "learn").
			with(useIgnored, `
			num_classes init_values drop_rate pos_drop_rate patch_drop_rate proj_drop_rate attn_drop_rate
			drop_path_rate weight_init dynamic_img_size dynamic_img_pad no_embed_class strict_img_size
			features_only pretrained`)
	case openSection:
		return keys{}.with(useObeyed, "model_cfg preprocess_cfg")
	case modelSection:
		return keys{}.with(useObeyed, "vision_cfg text_cfg quick_gelu").
			with(useIgnored, `
			embed_dim custom_text init_logit_bias init_logit_scale nonscalar_logit_scale multimodal_cfg cast_dtype
			output_dict model_type`)
	case visionSection:
		return visionKeys()
	case textSection:
		return textKeys()
	case imagesSection:
		return keys{}.with(useObeyed, "size mean std interpolation resize_mode").with(useIgnored, "fill_color").
			with(useRefused, "mode", "RGB")
	case processorSection:
		return processorKeys()
	}
	return nil
}

// commonKeys are those that every configuration of transformers may have.
func commonKeys() keys {
	return keys{}.with(useRefused, "pruned_heads", map[string]any{}).with(useRefused, "per_layer_config",
		map[string]any{}).
		with(useIgnored, `
			_attn_implementation_autoset _commit_hash _name_or_path name_or_path architectures
			attn_implementation auto_map transformers_version torch_dtype dtype id2label label2id num_labels
			num_classes problem_type finetuning_task task_specific_params return_dict output_hidden_states
			output_attentions use_return_dict torchscript use_bfloat16 use_cache tf_legacy_loss
			tie_word_embeddings tie_encoder_decoder chunk_size_feed_forward is_encoder_decoder is_decoder
			cross_attention_hidden_size add_cross_attention max_length min_length do_sample early_stopping
			num_beams num_beam_groups diversity_penalty temperature top_k top_p typical_p repetition_penalty
			length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size bad_words_ids num_return_sequences
			output_scores return_dict_in_generate forced_bos_token_id forced_eos_token_id remove_invalid_values
			exponential_decay_length_penalty suppress_tokens begin_suppress_tokens tokenizer_class prefix
			sep_token_id decoder_start_token_id bos_token_id gradient_checkpointing`)
}

// towerKeys are those of one tower of transformers: of ViT, DeiT, MAE, DINO, CLIP, SigLIP, ConvNeXt.
func towerKeys() keys {
	return commonKeys().
		with(useObeyed, "model_type num_attention_heads hidden_act layer_norm_eps eos_token_id pad_token_id").
		with(useChecked, `
			hidden_size num_hidden_layers intermediate_size mlp_ratio patch_size image_size num_channels
			num_register_tokens use_gated_mlp depths hidden_sizes num_stages
			max_position_embeddings vocab_size`).
		with(useRefused, "use_swiglu_ffn", false).with(useRefused, "vision_use_head", true).with(useRefused,
		"num_patches").
		with(useRefused, "qkv_bias", true).with(useRefused, "query_bias", true).with(useRefused, "value_bias", true).
		with(useRefused, "key_bias", false).with(useRefused, "proj_bias", true).with(useRefused, "mlp_bias", true).
		with(useRefused, "attention_bias", true).with(useRefused, "rope_theta", 100.).
		with(useRefused, "rope_parameters", map[string]any{"rope_theta": 100., "rope_type": "default"},
			map[string]any{"rope_theta": 100.}).with(useRefused, "rope_scaling").
		with(useRefused, "interpolate_antialias", true).with(useRefused, "interpolate_offset", 0.).
		with(useRefused, "position_embedding_type", "absolute").with(useRefused, "use_mean_pooling", false).
		with(useIgnored, `
			hidden_dropout_prob attention_probs_dropout_prob attention_dropout dropout drop_path_rate
			layerscale_value layer_scale_init_value initializer_range initializer_factor encoder_stride
			mask_ratio norm_pix_loss decoder_hidden_size decoder_intermediate_size decoder_num_attention_heads
			decoder_num_hidden_layers use_mask_token pooler_output_size pooler_act out_features out_indices
			stage_names _out_features _out_indices apply_layernorm reshape_hidden_states pos_embed_shift
			pos_embed_jitter pos_embed_rescale logit_scale_init_value projection_dim projection_size`)
}

// visionKeys are those of OpenCLIP's image tower.
func visionKeys() keys {
	return keys{}.with(useObeyed, `head_width timm_model_name timm_pool timm_model_kwargs pool_type norm_kwargs
			act_kwargs`).
		with(useChecked, "layers width mlp_ratio patch_size image_size in_chans").
		with(useRefused, "timm_proj", "none", "").with(useRefused, "attentional_pool no_ln_pre", false).
		with(useRefused, "pos_embed_type", "learnable").with(useRefused, "final_ln_after_pool", false).
		with(useRefused, "input_patchnorm", false).with(useRefused, "global_average_pool", false).
		with(useRefused, "block_type", "default").with(useRefused, `
			qk_norm scaled_cosine_attn scale_heads scale_attn_inner scale_attn scale_fc`, false).
		with(useIgnored, `
			ls_init_value patch_dropout attn_pooler_queries attn_pooler_heads output_tokens
			timm_model_pretrained timm_proj_bias timm_drop timm_drop_path image_seq_len`)
}

// textKeys are those of OpenCLIP's text tower.
func textKeys() keys {
	return keys{}.with(useObeyed, "heads norm_kwargs act_kwargs").
		with(useChecked, "context_length vocab_size width layers mlp_ratio").
		with(useRefused, "hf_model_name").with(useRefused, "text_arch", "clip").with(useRefused, "embed_cls", false).
		with(useRefused, "no_causal_mask", false).with(useRefused, "final_ln_after_pool", false).
		with(useRefused, "pool_type", "argmax").with(useRefused, "proj_bias", false).with(useRefused, "proj_type",
		"linear").
		with(useRefused, "block_type", "default").with(useRefused, `
			qk_norm scaled_cosine_attn scale_heads scale_attn_inner scale_attn scale_fc`, false).
		with(useIgnored, `
			ls_init_value output_tokens hf_tokenizer_name tokenizer_kwargs tokenizer_mode pad_id bos_id eos_id
			hf_model_pretrained hf_proj_type hf_pooler_type hf_model_config variable_text tokenizer_type
			tiktoken_name`)
}

// processorKeys are those of preprocessor_config.json.
func processorKeys() keys {
	return keys{}.with(useObeyed, `
			image_mean image_std do_normalize do_rescale rescale_factor rescale_offset do_flip_channel_order
			do_resize do_center_crop size crop_size crop_pct resample include_top default_to_square
			image_processor_type feature_extractor_type do_pad pad_size do_thumbnail do_align_long_axis
			size_divisor do_split_image do_image_splitting do_pan_and_scan crop_to_patches do_grayscale
			max_num_patches max_image_size min_pixels max_pixels`).
		with(useIgnored, `
			processor_class _processor_class _valid_processor_keys auto_map data_format input_data_format
			return_tensors device disable_grouping do_convert_rgb do_reduce_labels use_fast _valid_kwargs_names
			image_seq_length model_input_names padding_mode padding_value num_channels transformers_version
			_image_processor_type crop_margin`)
}

// object is a part of a file whose values are read by name. The first error is kept.
type object struct {
	file, at string // at is "" or the path of the part with a dot: "vision_config."
	values   map[string]any
	rows     keys
	err      error
}

// part returns an object within o; nil if o has none under this name.
func (o *object) part(name string, s section) *object {
	v := o.values[name]
	if v == nil {
		return nil
	}
	values, ok := v.(map[string]any)
	if !ok {
		o.setError(name, "must be an object")
	}
	return &object{file: o.file, at: o.at + name + ".", values: values, rows: tableOf(s), err: o.err}
}

// setError keeps an error about a key's value, unless there is one.
func (o *object) setError(name, format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf("%s%s is %s: %s", o.at, escapeName(name), formatValue(o.values[name]),
			fmt.Sprintf(format, args...))
	}
}

// source says where a key stands.
func (o *object) source(name string) string { return o.file + ": " + o.at + name }

// check refuses what the table refuses. Keys that the table does not have are an error if strict is set, and
// otherwise returned; values that ask for nothing, as null and false, are not.
func (o *object) check(strict bool) (unknown []string) {
	for _, name := range slices.Sorted(maps.Keys(o.values)) {
		v := o.values[name]
		row, known := o.rows[name]
		switch {
		case !known && isDisabled(v):
		case !known && strict:
			o.setError(name, "the key is not known here: remove it if it does not change what the network computes")
		case !known:
			unknown = append(unknown, o.at+escapeName(name))
		case row.use == useRefused && v != nil && !slices.ContainsFunc(row.only,
			func(x any) bool { return equalJSON(x, v) }):
			if len(row.only) == 0 {
				o.setError(name, "it must be absent: the network that it asks for is not supported")
			} else {
				o.setError(name, "must be %s: the network that it asks for is not supported", formatValue(row.only[0]))
			}
		}
	}
	return unknown
}

// equalJSON compares two values of JSON.
func equalJSON(a, b any) bool { return reflect.DeepEqual(a, b) }

// isDisabled reports whether a value switches nothing on.
func isDisabled(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	}
	return v == false || v == 0. || v == ""
}

// number returns a number; 0 if the key is absent.
func (o *object) number(name string) float64 {
	v := o.values[name]
	x, ok := v.(float64)
	if v != nil && !ok {
		o.setError(name, "must be a number")
	}
	return x
}

// count returns a positive whole number; 0 if the key is absent.
func (o *object) count(name string) int {
	v := o.values[name]
	x, ok := v.(float64)
	if v != nil && (!ok || x != float64(int(x)) || x < 1 || x > maxCount) {
		o.setError(name, "must be a whole number from 1 to %d", maxCount)
		return 0
	}
	return int(x)
}

// maxCount bounds the whole numbers of the files.
const maxCount = 1 << 24

// text returns a text; "" if the key is absent.
func (o *object) text(name string) string {
	v := o.values[name]
	x, ok := v.(string)
	if v != nil && !ok {
		o.setError(name, "must be a text")
	}
	return x
}

// boolean returns a truth value, or otherwise if the key is absent.
func (o *object) boolean(name string, otherwise bool) bool {
	v := o.values[name]
	if v == nil {
		return otherwise
	}
	x, ok := v.(bool)
	if !ok {
		o.setError(name, "must be true or false")
	}
	return x
}
