dist_man_MANS += %D%/ps-model.5
