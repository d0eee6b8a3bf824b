/* SPDX-License-Identifier: Apache-2.0 */
#include "config/metric/metric_goal.h"
#include "tests/unit/config/fixture.h"

TEST(names_of_metrics_say_whether_larger_is_better)
{
    static const char *const larger[] = {
        "accuracy",
        "val_accuracy",
        "sparse_categorical_accuracy",
        "ACCURACY",
        "BinaryAccuracy",
        "multiclassaccuracy",
        "acc",
        "val_acc",
        "acc1",
        "acc@5",
        "valAcc",
        "Acc",
        "f1",
        "f1_score",
        "F1Score",
        "macro-F1",
        "eval_f1",
        "auc",
        "AUC",
        "auc_1",
        "roc_auc",
        "val_AUC",
        "precision",
        "top_k_precision",
        "recall",
        "recall@10",
        "r2",
        "r2_score",
        "R2Score",
        "mIoU",
        "mean_iou",
        "IoU",
        "dice",
        "dice_coef",
        "mAP",
        "mAP50",
        "map_50",
        "bleu",
        "rouge1",
        "ndcg@10",
        "psnr",
        "cosine_similarity",
        "episode_reward",
        "specificity",
    };
    static const char *const smaller[] = {
        "loss",
        "val_loss",
        "validation_error",
        "mse",
        "mae",
        "perplexity",
        "accumulated_loss",
        "accumulation",
        "accuracy_loss",
        "f1_loss",
        "dice_loss",
        "DiceLoss",
        "recall_error",
        "auc_err",
        "sauce",
        "half1",
        "mapped",
        "remap",
        "bitmap",
        "diced",
        "cluster2",
        "x",
        "",
    };

    for (size_t i = 0; i < ARRAY_LEN(larger); i++)
        if (!metric_goal_is_larger(larger[i]))
            fail_msg("%s", larger[i]);
    for (size_t i = 0; i < ARRAY_LEN(smaller); i++)
        if (metric_goal_is_larger(smaller[i]))
            fail_msg("%s", smaller[i]);
}

/* The rules read the name before its length is refused, and a file may be 16 MB. */
TEST(a_name_of_megabytes_is_read_in_one_pass)
{
    enum { LEN = 4 << 20 };
    static char name[LEN + 1];

    memset(name, 'a', LEN);
    CHECK(!metric_goal_is_larger(name));
    memcpy(name + LEN - 4, "_acc", 4);
    CHECK(metric_goal_is_larger(name));
}

TEST(a_goal_that_the_user_did_not_name_is_told)
{
    FIXTURE(f);

    CHECK_LOADS(&f, "entrypoint: ./a\nsearcher:\n  name: single\n  metric: val_acc\n");
    CHECK_STR(lines(&f), "c.yaml:4:11: searcher.metric: larger values of 'val_acc' are "
                         "usually better, but smaller ones count as better here: set "
                         "searcher.smaller_is_better to false, or to true if that is "
                         "meant\n");
    CHECK_HAS(f.config.metric_doubt, "larger values of 'val_acc' are usually better");
    CHECK(f.config.smaller_is_better);
}

TEST(a_goal_that_the_user_named_is_not_told)
{
    FIXTURE(f);
    static const char *const searchers[] = {
        "searcher: {name: single, metric: val_acc, smaller_is_better: true}\n",
        "searcher: {name: single, metric: val_acc, smaller_is_better: false}\n",
        "searcher: {name: single, metric: val_loss}\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(searchers); i++) {
        CHECK_LOADS(&f, arena_printf(&f.mem, "entrypoint: ./a\n%s", searchers[i]));
        CHECK_EQ(f.report.notices, 0);
        CHECK(!f.config.metric_doubt);
    }
}
