dist_man_MANS += %D%/ps-coord.1
dist_man_MANS += %D%/ps-data.5
dist_man_MANS += %D%/ps-model.5
dist_man_MANS += %D%/ps-request.5
dist_man_MANS += %D%/ps-serve.1
dist_man_MANS += %D%/ps-wire.7
dist_man_MANS += %D%/ps-work.1
