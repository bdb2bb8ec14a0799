dist_man_MANS += %D%/ps-data.5
dist_man_MANS += %D%/ps-model.5
dist_man_MANS += %D%/ps-wire.7
