BEGIN TRANSACTION;
CREATE TABLE accounts (
	"key" TEXT NOT NULL, 
	rater_id TEXT NOT NULL, 
	password TEXT, 
	PRIMARY KEY ("key"), 
	UNIQUE (rater_id), 
	FOREIGN KEY(rater_id) REFERENCES raters (rater_id)
);
CREATE TABLE admin_log (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at INTEGER NOT NULL, 
	admin_id TEXT NOT NULL, 
	action TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	signature TEXT NOT NULL
);
CREATE TABLE answers (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	answer_id TEXT NOT NULL, 
	assignment_id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	body TEXT NOT NULL, 
	choice TEXT NOT NULL, 
	elapsed_ms INTEGER NOT NULL, 
	received_at INTEGER NOT NULL, 
	supersedes TEXT, 
	shown TEXT, 
	chain TEXT NOT NULL, 
	UNIQUE (assignment_id, version), 
	UNIQUE (answer_id), 
	FOREIGN KEY(assignment_id) REFERENCES assignments (assignment_id)
);
INSERT INTO "answers" VALUES(1,'b8a1abcd-1a69-46c7-8da4-f9fc3c6da5d7','MC3AS5dat-ckFgMxoJ004g',1,'{"answer_id": "b8a1abcd-1a69-46c7-8da4-f9fc3c6da5d7", "assignment": "MC3AS5dat-ckFgMxoJ004g", "choice": "right", "elapsed_ms": 900, "supersedes": null}','right',900,1700000004000000,NULL,'65a2085de81f65a856ad667e86938ccd5ca04ecf9cacf6fd26bd893d3c4a2e06','3dd5aaf4753a18a5dffa8ed80707537397d869c3ea9b028310fef8cdd6570a30');
INSERT INTO "answers" VALUES(2,'11072231-1710-4f53-a7ac-435a7a97c643','_s0Et5UU8xb_zXnAbNOJuA',1,'{"answer_id": "11072231-1710-4f53-a7ac-435a7a97c643", "assignment": "_s0Et5UU8xb_zXnAbNOJuA", "choice": "left", "elapsed_ms": 900, "supersedes": null}','left',900,1700000008000000,NULL,'d92901a9f1eb2242edac542a116ccfa486fab733bcbf2dd46549a51871b546c1','bbed5927fefd4c8f6d2e73182918d590671bb0335bf579920c3a9e0eef659b06');
INSERT INTO "answers" VALUES(3,'4a14876a-eaff-4a09-8ca5-996666ceab36','_6ofy2WT3VVO_Eto6-OyLw',1,'{"answer_id": "4a14876a-eaff-4a09-8ca5-996666ceab36", "assignment": "_6ofy2WT3VVO_Eto6-OyLw", "choice": "left", "elapsed_ms": 900, "supersedes": null}','left',900,1700000012000000,NULL,'20426a302f1acefaf4d4667254a156ad363d212d0abbea1e063d963cc923c079','82f8357f77c99f123cc57edf483a4d52f11ebde0c48ae5877f02b5209881b55a');
INSERT INTO "answers" VALUES(4,'5c3902b3-8963-4c6e-8534-f45738d048ec','rCi2Wvji0xCe18q20VW7cg',1,'{"answer_id": "5c3902b3-8963-4c6e-8534-f45738d048ec", "assignment": "rCi2Wvji0xCe18q20VW7cg", "choice": "right", "elapsed_ms": 900, "supersedes": null}','right',900,1700000016000000,NULL,'af0439d008a2a4b5e9b827aa2313f7e84b99a803720037f32ba43bb94e1265e5','d4fed7c2b203f5c02160a2b6e90f5dc9b43373b87eab6ad9eae0e20678e97d1c');
INSERT INTO "answers" VALUES(5,'1b2ed40e-d3ad-4ccb-ac33-be0ac79d6793','FHF6Zf1YIM8lOSQBJfB9VA',1,'{"answer_id": "1b2ed40e-d3ad-4ccb-ac33-be0ac79d6793", "assignment": "FHF6Zf1YIM8lOSQBJfB9VA", "choice": "right", "elapsed_ms": 900, "supersedes": null}','right',900,1700000020000000,NULL,'438aa30dc47977878c2d2a849e0a4542eb04f01f66ad3e927023ed23bfa3de8f','8c52396df11b1e18aee46ddca148ff325c89c16c25d2483efa5c0bb16b744451');
INSERT INTO "answers" VALUES(6,'06905269-ed6f-4b09-b165-c8ce36e2f24b','6ab6t1w3z9hYFv57k7Fu3g',1,'{"answer_id": "06905269-ed6f-4b09-b165-c8ce36e2f24b", "assignment": "6ab6t1w3z9hYFv57k7Fu3g", "choice": "both_good", "elapsed_ms": 900, "supersedes": null}','both_good',900,1700000024000000,NULL,'6457c1e69f79ad3a138f0c36283947fcce352208dbedc6693b06a90ea0cf0cc5','3b645049f76ac1881afa314e885f23d732cd0bc9f8293b44f99e4598e89df743');
INSERT INTO "answers" VALUES(7,'459142de-ccea-4645-82a0-0403ce80c4b0','KCxCb5k5M5KOj6OXCCRC7Q',1,'{"answer_id": "459142de-ccea-4645-82a0-0403ce80c4b0", "assignment": "KCxCb5k5M5KOj6OXCCRC7Q", "choice": "left", "elapsed_ms": 900, "supersedes": null}','left',900,1700000028000000,NULL,'af0439d008a2a4b5e9b827aa2313f7e84b99a803720037f32ba43bb94e1265e5','e251193601251a60bca846f7294e6e79bd7c12449c6801cd2e4fa31fb0e44ea2');
INSERT INTO "answers" VALUES(8,'a0817910-4a25-4466-8f52-53a02a318785','KCxCb5k5M5KOj6OXCCRC7Q',2,'{"answer_id": "a0817910-4a25-4466-8f52-53a02a318785", "assignment": "KCxCb5k5M5KOj6OXCCRC7Q", "choice": "undo", "elapsed_ms": 1, "supersedes": "459142de-ccea-4645-82a0-0403ce80c4b0"}','undo',1,1700000028000000,'459142de-ccea-4645-82a0-0403ce80c4b0','af0439d008a2a4b5e9b827aa2313f7e84b99a803720037f32ba43bb94e1265e5','847c47d745185262b980da1a0b75b8a6dd47546f733dd8e80ff17afcf7c76264');
INSERT INTO "answers" VALUES(9,'daca3c06-f5ff-4c03-bb5d-7385de08caa1','ANOiPVakWQ-sE2nKID0YYQ',1,'{"answer_id": "daca3c06-f5ff-4c03-bb5d-7385de08caa1", "assignment": "ANOiPVakWQ-sE2nKID0YYQ", "choice": "right", "elapsed_ms": 900, "supersedes": null}','right',900,1700000032000000,NULL,'9759f07f685091576c3a613c58872ce3c755e894195746bbf0a9299950331fee','110ebbfc0a103889905d19bb082bb2ba588021561fc48253d01a423bd2b8cffd');
INSERT INTO "answers" VALUES(10,'56600224-9b19-4bf4-9844-1b5616332aca','ANOiPVakWQ-sE2nKID0YYQ',2,'{"answer_id": "56600224-9b19-4bf4-9844-1b5616332aca", "assignment": "ANOiPVakWQ-sE2nKID0YYQ", "choice": "undo", "elapsed_ms": 1, "supersedes": "daca3c06-f5ff-4c03-bb5d-7385de08caa1"}','undo',1,1700000032000000,'daca3c06-f5ff-4c03-bb5d-7385de08caa1','9759f07f685091576c3a613c58872ce3c755e894195746bbf0a9299950331fee','46a670c2979916f81b425c1b0fe4b7af562c2aae7f923abe32087fd4e1ed3ed1');
INSERT INTO "answers" VALUES(11,'3fb62d2c-8186-4fc9-a34f-806fabf4a07c','KCxCb5k5M5KOj6OXCCRC7Q',3,'{"answer_id": "3fb62d2c-8186-4fc9-a34f-806fabf4a07c", "assignment": "KCxCb5k5M5KOj6OXCCRC7Q", "choice": "left", "elapsed_ms": 900, "supersedes": "a0817910-4a25-4466-8f52-53a02a318785"}','left',900,1700000036000000,'a0817910-4a25-4466-8f52-53a02a318785','af0439d008a2a4b5e9b827aa2313f7e84b99a803720037f32ba43bb94e1265e5','3de5ffed9ce87396cc3fb4ae4107b78174fe08ca5c38a05df806b4455669df7b');
INSERT INTO "answers" VALUES(12,'16df6486-47ad-4c26-b93d-0e453f508249','ANOiPVakWQ-sE2nKID0YYQ',3,'{"answer_id": "16df6486-47ad-4c26-b93d-0e453f508249", "assignment": "ANOiPVakWQ-sE2nKID0YYQ", "choice": "both_good", "elapsed_ms": 900, "supersedes": "56600224-9b19-4bf4-9844-1b5616332aca"}','both_good',900,1700000040000000,'56600224-9b19-4bf4-9844-1b5616332aca','9759f07f685091576c3a613c58872ce3c755e894195746bbf0a9299950331fee','d43bf7efecfd218fbdca4a7d2ad51dc5f416212505e0a9c260cb48aae8520adf');
INSERT INTO "answers" VALUES(13,'e8abb93f-01d8-4a02-8cdc-e7a6d7288ff6','0hI9Tba6h6NaFu96-EDVaw',1,'{"answer_id": "e8abb93f-01d8-4a02-8cdc-e7a6d7288ff6", "assignment": "0hI9Tba6h6NaFu96-EDVaw", "choice": "right", "elapsed_ms": 900, "supersedes": null}','right',900,1700000044000000,NULL,'58773d9ac810add395cdfe79185a4dddf5bbcaf2139ec5b8f3674036de9dfb35','c2d41e3c3a596aef47f5a9082a4fad472eddd2c68e8a1224c31beedf00ee0de2');
INSERT INTO "answers" VALUES(14,'4fcfa583-e1df-4af9-b474-c7e89286a175','MMQhdVFgzwIvfZAFAuo6IQ',1,'{"answer_id": "4fcfa583-e1df-4af9-b474-c7e89286a175", "assignment": "MMQhdVFgzwIvfZAFAuo6IQ", "choice": "both_good", "elapsed_ms": 900, "supersedes": null}','both_good',900,1700000048000000,NULL,'3b1358b1265c412ebb9f0fc2d4f5abbf88df1f95303f1bdc8a3fae5373dca74e','42b692b69dff05c64532dde7aa755ee3923c09bbd668894fbb722b8aae8be189');
INSERT INTO "answers" VALUES(15,'995253fd-6c79-43de-a9f8-5e3131f3b923','d8TlesRsFBlk40CwUSv0ig',1,'{"answer_id": "995253fd-6c79-43de-a9f8-5e3131f3b923", "assignment": "d8TlesRsFBlk40CwUSv0ig", "choice": "right", "elapsed_ms": 900, "supersedes": null}','right',900,1700000052000000,NULL,'22dd34337a263c53425d98564b55a4dfa75982313c6dd03fbc1908343ebc810b','41154116d765bc4044d89a404f06fb1dc42adb151ec31c24a240a034a83fdcbc');
INSERT INTO "answers" VALUES(16,'3bb4a570-294c-4ea3-b38d-243a6e58d5ca','k6q4ZLE7TD4XwfCq5oNTVA',1,'{"answer_id": "3bb4a570-294c-4ea3-b38d-243a6e58d5ca", "assignment": "k6q4ZLE7TD4XwfCq5oNTVA", "choice": "right", "elapsed_ms": 900, "supersedes": null}','right',900,1700000056000000,NULL,'11c0068eaba749af23d3149549997544d5ddc4975275be02da133043216d7c1c','c1d0674e782c0fa27aecc659c247c6abe8269c4991ea5a3b0e323a1938cc6847');
INSERT INTO "answers" VALUES(17,'0b11ad28-cc21-4e88-9006-0cc54278c261','RAW7FADmwS2ExpqnjyQaSg',1,'{"answer_id": "0b11ad28-cc21-4e88-9006-0cc54278c261", "assignment": "RAW7FADmwS2ExpqnjyQaSg", "choice": "left", "elapsed_ms": 900, "supersedes": null}','left',900,1700000060000000,NULL,'e24973181bcaf6ed78aee88566d12be50da29010d6f067323a249ed8853af62f','9dae5c5f9ed1e52fab95bd7f895faa7e0b807f45769cef80fa6069cfc8d9702d');
INSERT INTO "answers" VALUES(18,'ff5a52f1-a058-45ac-b671-863c0bdbc23a','j9YFFEV7rqmbf1oWqlBi_Q',1,'{"answer_id": "ff5a52f1-a058-45ac-b671-863c0bdbc23a", "assignment": "j9YFFEV7rqmbf1oWqlBi_Q", "choice": "right", "elapsed_ms": 900, "supersedes": null}','right',900,1700000064000000,NULL,'6c234e27ecc8e157ce59ebf5368e0d4593083cb386165a2a25fe2ff87391532d','3f8ba3cde3981bc130d85a1b2b8f2fe322f1a4e06899f9380f10db653b8ecf46');
CREATE TABLE assignments (
	assignment_id TEXT NOT NULL, 
	rater_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	state TEXT NOT NULL, 
	issued_at INTEGER NOT NULL, 
	lease_until INTEGER NOT NULL, 
	digests TEXT, 
	answer_id TEXT, 
	answered_at INTEGER, 
	PRIMARY KEY (assignment_id), 
	UNIQUE (rater_id, subject), 
	FOREIGN KEY(rater_id) REFERENCES raters (rater_id)
);
INSERT INTO "assignments" VALUES('MC3AS5dat-ckFgMxoJ004g','rater-6b67e4c2c7e5bd8b','anchor','canary-prompt-1Canary-Alpha-7f30Canary-Beta-9c10','{"prompt_id": "canary-prompt-1", "prompt": "A red cube\u202e on a table", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}, {"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Beta-9c1", "side_a_shown": "left", "plan_rule": null, "plan_stream": null, "expected": "model_a"}','settled',1700000000000000,1700001800000000,NULL,'b8a1abcd-1a69-46c7-8da4-f9fc3c6da5d7',1700000004000000);
INSERT INTO "assignments" VALUES('_6ofy2WT3VVO_Eto6-OyLw','rater-6b67e4c2c7e5bd8b','anchor','canary-prompt-2Canary-Alpha-7f30Canary-Beta-9c10','{"prompt_id": "canary-prompt-2", "prompt": "\u0642\u0637\u0629 \u0632\u0631\u0642\u0627\u0621 \u0639\u0644\u0649 \u0633\u062c\u0627\u062f\u0629", "language": "ar", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}, {"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Beta-9c1", "side_a_shown": "left", "plan_rule": null, "plan_stream": null, "expected": "model_a"}','settled',1700000000000001,1700001800000000,'["3b715b42bc06f9cdabc49d2be8a4e1ad8de6f9d66ec5226852c81f65525af9b4", "42de271f8293b1dfc81ebb3b9caec52fcd6ddb6b358b3876d024da071597210d"]','4a14876a-eaff-4a09-8ca5-996666ceab36',1700000012000000);
INSERT INTO "assignments" VALUES('FHF6Zf1YIM8lOSQBJfB9VA','rater-6b67e4c2c7e5bd8b','battle','canary-prompt-3Canary-Alpha-7f30Canary-Beta-9c10','{"prompt_id": "canary-prompt-3", "prompt": "\u4e00\u53ea\u6234\u7740\u7ea2\u5e3d\u5b50\u7684\u732b", "language": "zh", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}, {"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}], "model_a": "Canary-Beta-9c1", "model_b": "Canary-Alpha-7f3", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 1}','settled',1700000000000002,1700001800000000,'["d717ed028a3fb86441d94b4a21d961ffcad61315b0a1a2609bf216bf4724a35b", "0a14d03b02687a2459e606491eabc0c2a7cf86964ae56915edec2b58394120c8"]','1b2ed40e-d3ad-4ccb-ac33-be0ac79d6793',1700000020000000);
INSERT INTO "assignments" VALUES('KCxCb5k5M5KOj6OXCCRC7Q','rater-6b67e4c2c7e5bd8b','battle','canary-prompt-2Canary-Alpha-7f30Canary-Gamma-2e80','{"prompt_id": "canary-prompt-2", "prompt": "\u0642\u0637\u0629 \u0632\u0631\u0642\u0627\u0621 \u0639\u0644\u0649 \u0633\u062c\u0627\u062f\u0629", "language": "ar", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}, {"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}], "model_a": "Canary-Gamma-2e8", "model_b": "Canary-Alpha-7f3", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 2}','settled',1700000000000003,1700001800000000,'["3b715b42bc06f9cdabc49d2be8a4e1ad8de6f9d66ec5226852c81f65525af9b4", "413a2a83016fc0b9d6395549534cfe3db7915d244dfd5ca8326a86abd19e5179"]','3fb62d2c-8186-4fc9-a34f-806fabf4a07c',1700000036000000);
INSERT INTO "assignments" VALUES('_s0Et5UU8xb_zXnAbNOJuA','rater-299f416e11a2388f','battle','canary-prompt-3Canary-Alpha-7f30Canary-Gamma-2e80','{"prompt_id": "canary-prompt-3", "prompt": "\u4e00\u53ea\u6234\u7740\u7ea2\u5e3d\u5b50\u7684\u732b", "language": "zh", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}, {"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}], "model_a": "Canary-Gamma-2e8", "model_b": "Canary-Alpha-7f3", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 1}','settled',1700000004000000,1700001804000000,NULL,'11072231-1710-4f53-a7ac-435a7a97c643',1700000008000000);
INSERT INTO "assignments" VALUES('rCi2Wvji0xCe18q20VW7cg','rater-299f416e11a2388f','battle','canary-prompt-2Canary-Alpha-7f30Canary-Gamma-2e80','{"prompt_id": "canary-prompt-2", "prompt": "\u0642\u0637\u0629 \u0632\u0631\u0642\u0627\u0621 \u0639\u0644\u0649 \u0633\u062c\u0627\u062f\u0629", "language": "ar", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}, {"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}], "model_a": "Canary-Gamma-2e8", "model_b": "Canary-Alpha-7f3", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 2}','settled',1700000004000001,1700001804000000,'["3b715b42bc06f9cdabc49d2be8a4e1ad8de6f9d66ec5226852c81f65525af9b4", "413a2a83016fc0b9d6395549534cfe3db7915d244dfd5ca8326a86abd19e5179"]','5c3902b3-8963-4c6e-8534-f45738d048ec',1700000016000000);
INSERT INTO "assignments" VALUES('6ab6t1w3z9hYFv57k7Fu3g','rater-299f416e11a2388f','battle','canary-prompt-2Canary-Alpha-7f30Canary-Beta-9c10','{"prompt_id": "canary-prompt-2", "prompt": "\u0642\u0637\u0629 \u0632\u0631\u0642\u0627\u0621 \u0639\u0644\u0649 \u0633\u062c\u0627\u062f\u0629", "language": "ar", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}, {"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}], "model_a": "Canary-Beta-9c1", "model_b": "Canary-Alpha-7f3", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 1}','settled',1700000004000002,1700001804000000,'["42de271f8293b1dfc81ebb3b9caec52fcd6ddb6b358b3876d024da071597210d", "3b715b42bc06f9cdabc49d2be8a4e1ad8de6f9d66ec5226852c81f65525af9b4"]','06905269-ed6f-4b09-b165-c8ce36e2f24b',1700000024000000);
INSERT INTO "assignments" VALUES('ANOiPVakWQ-sE2nKID0YYQ','rater-299f416e11a2388f','battle','canary-prompt-3Canary-Alpha-7f30Canary-Beta-9c10','{"prompt_id": "canary-prompt-3", "prompt": "\u4e00\u53ea\u6234\u7740\u7ea2\u5e3d\u5b50\u7684\u732b", "language": "zh", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}, {"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Beta-9c1", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 2}','settled',1700000004000003,1700001804000000,'["0a14d03b02687a2459e606491eabc0c2a7cf86964ae56915edec2b58394120c8", "d717ed028a3fb86441d94b4a21d961ffcad61315b0a1a2609bf216bf4724a35b"]','16df6486-47ad-4c26-b93d-0e453f508249',1700000040000000);
INSERT INTO "assignments" VALUES('0hI9Tba6h6NaFu96-EDVaw','rater-6b67e4c2c7e5bd8b','battle','canary-prompt-1Canary-Beta-9c10Canary-Gamma-2e80','{"prompt_id": "canary-prompt-1", "prompt": "A red cube\u202e on a table", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}, {"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}], "model_a": "Canary-Beta-9c1", "model_b": "Canary-Gamma-2e8", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 1}','settled',1700000008000000,1700001808000000,'["44ff40c045e58d9b458b0edcd238b365095ca431507998017cc5630c3e1cc4bf", "4dfc44526b6b7d7e2d0a12b5c3d9bfc64009d476453e0ec77a0c1bc4cf3fa32b"]','e8abb93f-01d8-4a02-8cdc-e7a6d7288ff6',1700000044000000);
INSERT INTO "assignments" VALUES('MMQhdVFgzwIvfZAFAuo6IQ','rater-299f416e11a2388f','battle','canary-prompt-1Canary-Alpha-7f30Canary-Gamma-2e80','{"prompt_id": "canary-prompt-1", "prompt": "A red cube\u202e on a table", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}, {"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Gamma-2e8", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 2}','settled',1700000012000000,1700001812000000,'["44ff40c045e58d9b458b0edcd238b365095ca431507998017cc5630c3e1cc4bf", "1844a84c939b2c0526d85698f7c7e7826ad9a9d5db8f3ebee37a6c08cc1d2c29"]','4fcfa583-e1df-4af9-b474-c7e89286a175',1700000048000000);
INSERT INTO "assignments" VALUES('d8TlesRsFBlk40CwUSv0ig','rater-6b67e4c2c7e5bd8b','battle','canary-prompt-4Canary-Alpha-7f30Canary-Beta-9c10','{"prompt_id": "canary-prompt-4", "prompt": "<img src=x onerror=\"document.title=''owned''\"> & a dog", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}, {"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Beta-9c1", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 1}','settled',1700000016000000,1700001816000000,NULL,'995253fd-6c79-43de-a9f8-5e3131f3b923',1700000052000000);
INSERT INTO "assignments" VALUES('k6q4ZLE7TD4XwfCq5oNTVA','rater-299f416e11a2388f','battle','canary-prompt-1Canary-Beta-9c10Canary-Gamma-2e80','{"prompt_id": "canary-prompt-1", "prompt": "A red cube\u202e on a table", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}, {"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}], "model_a": "Canary-Beta-9c1", "model_b": "Canary-Gamma-2e8", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 1}','settled',1700000020000000,1700001820000000,NULL,'3bb4a570-294c-4ea3-b38d-243a6e58d5ca',1700000056000000);
INSERT INTO "assignments" VALUES('RAW7FADmwS2ExpqnjyQaSg','rater-6b67e4c2c7e5bd8b','battle','canary-prompt-3Canary-Alpha-7f30Canary-Gamma-2e80','{"prompt_id": "canary-prompt-3", "prompt": "\u4e00\u53ea\u6234\u7740\u7ea2\u5e3d\u5b50\u7684\u732b", "language": "zh", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}, {"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Gamma-2e8", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 2}','settled',1700000024000000,1700001824000000,'["7d396c3c2c696419ca0f1d315e10dbf0124f4249679b64b4410e44e73bd3ddae", "0a14d03b02687a2459e606491eabc0c2a7cf86964ae56915edec2b58394120c8"]','0b11ad28-cc21-4e88-9006-0cc54278c261',1700000060000000);
INSERT INTO "assignments" VALUES('j9YFFEV7rqmbf1oWqlBi_Q','rater-299f416e11a2388f','battle','canary-prompt-1Canary-Alpha-7f30Canary-Beta-9c10','{"prompt_id": "canary-prompt-1", "prompt": "A red cube\u202e on a table", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}, {"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}], "model_a": "Canary-Beta-9c1", "model_b": "Canary-Alpha-7f3", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 2}','settled',1700000028000000,1700001828000000,'["4dfc44526b6b7d7e2d0a12b5c3d9bfc64009d476453e0ec77a0c1bc4cf3fa32b", "1844a84c939b2c0526d85698f7c7e7826ad9a9d5db8f3ebee37a6c08cc1d2c29"]','ff5a52f1-a058-45ac-b671-863c0bdbc23a',1700000064000000);
INSERT INTO "assignments" VALUES('LhdFUWHtVmJNtkqaPsqh1w','rater-6b67e4c2c7e5bd8b','battle','canary-prompt-4Canary-Alpha-7f30Canary-Gamma-2e80','{"prompt_id": "canary-prompt-4", "prompt": "<img src=x onerror=\"document.title=''owned''\"> & a dog", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}, {"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Gamma-2e8", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 1}','void',1700000040000000,1700001840000000,NULL,NULL,NULL);
INSERT INTO "assignments" VALUES('knnZQo69a9PuT6zX0gZaWQ','rater-299f416e11a2388f','battle','canary-prompt-3Canary-Beta-9c10Canary-Gamma-2e80','{"prompt_id": "canary-prompt-3", "prompt": "\u4e00\u53ea\u6234\u7740\u7ea2\u5e3d\u5b50\u7684\u732b", "language": "zh", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}, {"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}], "model_a": "Canary-Beta-9c1", "model_b": "Canary-Gamma-2e8", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 2}','open',1700000044000000,1700001844000000,'["d717ed028a3fb86441d94b4a21d961ffcad61315b0a1a2609bf216bf4724a35b", "7d396c3c2c696419ca0f1d315e10dbf0124f4249679b64b4410e44e73bd3ddae"]',NULL,NULL);
INSERT INTO "assignments" VALUES('v0c8dvhVeQRoSmKywuRbqw','rater-6b67e4c2c7e5bd8b','battle','canary-prompt-3Canary-Beta-9c10Canary-Gamma-2e80','{"prompt_id": "canary-prompt-3", "prompt": "\u4e00\u53ea\u6234\u7740\u7ea2\u5e3d\u5b50\u7684\u732b", "language": "zh", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}, {"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-3.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}], "model_a": "Canary-Beta-9c1", "model_b": "Canary-Gamma-2e8", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 2}','open',1700000048000000,1700001848000000,'["d717ed028a3fb86441d94b4a21d961ffcad61315b0a1a2609bf216bf4724a35b", "7d396c3c2c696419ca0f1d315e10dbf0124f4249679b64b4410e44e73bd3ddae"]',NULL,NULL);
INSERT INTO "assignments" VALUES('yoB2ySKqGQ2hPDXU2rGXcg','rater-299f416e11a2388f','battle','canary-prompt-4Canary-Alpha-7f30Canary-Gamma-2e80','{"prompt_id": "canary-prompt-4", "prompt": "<img src=x onerror=\"document.title=''owned''\"> & a dog", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}, {"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Gamma-2e8", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 2}','void',1700000052000000,1700001852000000,NULL,NULL,NULL);
INSERT INTO "assignments" VALUES('Q8DjbDl5K-8hCxvJxoPq0g','rater-6b67e4c2c7e5bd8b','battle','canary-prompt-2Canary-Beta-9c10Canary-Gamma-2e80','{"prompt_id": "canary-prompt-2", "prompt": "\u0642\u0637\u0629 \u0632\u0631\u0642\u0627\u0621 \u0639\u0644\u0649 \u0633\u062c\u0627\u062f\u0629", "language": "ar", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}, {"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-2.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}], "model_a": "Canary-Beta-9c1", "model_b": "Canary-Gamma-2e8", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 1}','open',1700000056000000,1700001856000000,'["413a2a83016fc0b9d6395549534cfe3db7915d244dfd5ca8326a86abd19e5179", "42de271f8293b1dfc81ebb3b9caec52fcd6ddb6b358b3876d024da071597210d"]',NULL,NULL);
INSERT INTO "assignments" VALUES('7kCUwg9fu3u9aMoT-N6n0A','rater-299f416e11a2388f','battle','canary-prompt-4Canary-Alpha-7f30Canary-Beta-9c10','{"prompt_id": "canary-prompt-4", "prompt": "<img src=x onerror=\"document.title=''owned''\"> & a dog", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}, {"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Beta-9c1", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 2}','open',1700000060000000,1700001860000000,'["89a24caf4e7891d1fe41f9a916375bc2a3c186e9b3ac684294e680e097631c0d", "cf114fc2b30f405ee5b463476123ecd8dc86f6c7f1183e332220fcf04ea549db"]',NULL,NULL);
INSERT INTO "assignments" VALUES('PMb6g8YqKopmgNzDjmYMCQ','rater-6b67e4c2c7e5bd8b','battle','canary-prompt-1Canary-Alpha-7f30Canary-Gamma-2e80','{"prompt_id": "canary-prompt-1", "prompt": "A red cube\u202e on a table", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Alpha-7f3", "sample": 0, "path": "/arena/pictures/Canary-Alpha-7f3/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Alpha-7f3"}, {"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-1.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}], "model_a": "Canary-Alpha-7f3", "model_b": "Canary-Gamma-2e8", "side_a_shown": "left", "plan_rule": "proportional", "plan_stream": 2}','open',1700000064000000,1700001864000000,'["1844a84c939b2c0526d85698f7c7e7826ad9a9d5db8f3ebee37a6c08cc1d2c29", "44ff40c045e58d9b458b0edcd238b365095ca431507998017cc5630c3e1cc4bf"]',NULL,NULL);
INSERT INTO "assignments" VALUES('S6enDkPcsiQuvwNbyNs8Ag','rater-299f416e11a2388f','battle','canary-prompt-4Canary-Beta-9c10Canary-Gamma-2e80','{"prompt_id": "canary-prompt-4", "prompt": "<img src=x onerror=\"document.title=''owned''\"> & a dog", "language": "en", "scenario": "toys", "labels": ["one"], "files": [{"model": "Canary-Gamma-2e8", "sample": 0, "path": "/arena/pictures/Canary-Gamma-2e8/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Gamma-2e8"}, {"model": "Canary-Beta-9c1", "sample": 0, "path": "/arena/pictures/Canary-Beta-9c1/canary-prompt-4.0.png", "root": "/arena/pictures/Canary-Beta-9c1"}], "model_a": "Canary-Beta-9c1", "model_b": "Canary-Gamma-2e8", "side_a_shown": "right", "plan_rule": "proportional", "plan_stream": 1}','void',1700000064000000,1700001864000000,NULL,NULL,NULL);
CREATE TABLE certificates (
	rater_id TEXT NOT NULL, 
	round INTEGER NOT NULL, 
	at INTEGER NOT NULL, 
	agreement FLOAT NOT NULL, 
	kappa FLOAT, 
	passed BOOLEAN NOT NULL, 
	PRIMARY KEY (rater_id, round), 
	FOREIGN KEY(rater_id) REFERENCES raters (rater_id)
);
CREATE TABLE consents (
	rater_id TEXT NOT NULL, 
	version TEXT NOT NULL, 
	at INTEGER NOT NULL, 
	PRIMARY KEY (rater_id, version), 
	FOREIGN KEY(rater_id) REFERENCES raters (rater_id)
);
INSERT INTO "consents" VALUES('rater-6b67e4c2c7e5bd8b','0243f9f46ed632b0',1700000000000000);
INSERT INTO "consents" VALUES('rater-299f416e11a2388f','0243f9f46ed632b0',1700000000000000);
CREATE TABLE flags (
	rater_id TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	value FLOAT, 
	threshold FLOAT, 
	explanation TEXT NOT NULL, 
	PRIMARY KEY (rater_id, reason), 
	FOREIGN KEY(rater_id) REFERENCES raters (rater_id)
);
INSERT INTO "flags" VALUES('rater-299f416e11a2388f','too_fast',0.25,0.5,'answers in 0.2 s');
CREATE TABLE invites (
	code_hash TEXT NOT NULL, 
	role TEXT NOT NULL, 
	made_at INTEGER NOT NULL, 
	rater_id TEXT, 
	PRIMARY KEY (code_hash), 
	FOREIGN KEY(rater_id) REFERENCES raters (rater_id)
);
CREATE TABLE raters (
	rater_id TEXT NOT NULL, 
	created_at INTEGER NOT NULL, 
	role TEXT NOT NULL, 
	occupation TEXT, 
	suspended_until INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (rater_id)
);
INSERT INTO "raters" VALUES('rater-6b67e4c2c7e5bd8b',1700000000000000,'rater','design',0);
INSERT INTO "raters" VALUES('rater-299f416e11a2388f',1700000000000000,'rater',NULL,0);
CREATE TABLE sessions (
	token_hash TEXT NOT NULL, 
	rater_id TEXT NOT NULL, 
	created_at INTEGER NOT NULL, 
	used_at INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (token_hash), 
	FOREIGN KEY(rater_id) REFERENCES raters (rater_id)
);
INSERT INTO "sessions" VALUES('57ef074318b786c65d52400d5d998f010e28d111ad6bfcddac410308bce06d33','rater-6b67e4c2c7e5bd8b',1700000000000000,1700000000000000);
INSERT INTO "sessions" VALUES('903d847dfab42197ddf489409f36aba5306225d7fb9beaa91fcc812ac267c898','rater-299f416e11a2388f',1700000000000000,1700000000000000);
CREATE TABLE settings (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('schema_version','4');
INSERT INTO "settings" VALUES('arena_id','981b5d0b26fb84796e907e6c772e4320');
INSERT INTO "settings" VALUES('mode','public');
INSERT INTO "settings" VALUES('secret','0f4a5a60e93ec700e3ce76aa6b37e0cd6bf4783c6b03c4bf1858b63782ce2c73');
INSERT INTO "settings" VALUES('work','battles');
CREATE TABLE settled (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	assignment_id TEXT NOT NULL, 
	answer_id TEXT NOT NULL, 
	settled_at INTEGER NOT NULL, 
	rater_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	model_a TEXT, 
	model_b TEXT, 
	winner TEXT, 
	stream INTEGER, 
	scenario TEXT, 
	UNIQUE (assignment_id), 
	FOREIGN KEY(assignment_id) REFERENCES assignments (assignment_id), 
	UNIQUE (answer_id), 
	FOREIGN KEY(answer_id) REFERENCES answers (answer_id)
);
INSERT INTO "settled" VALUES(1,'MC3AS5dat-ckFgMxoJ004g','b8a1abcd-1a69-46c7-8da4-f9fc3c6da5d7',1700000012000000,'rater-6b67e4c2c7e5bd8b','anchor','Canary-Alpha-7f3','Canary-Beta-9c1','model_b',NULL,'toys');
INSERT INTO "settled" VALUES(2,'_s0Et5UU8xb_zXnAbNOJuA','11072231-1710-4f53-a7ac-435a7a97c643',1700000016000000,'rater-299f416e11a2388f','battle','Canary-Gamma-2e8','Canary-Alpha-7f3','model_b',1,'toys');
INSERT INTO "settled" VALUES(3,'_6ofy2WT3VVO_Eto6-OyLw','4a14876a-eaff-4a09-8ca5-996666ceab36',1700000020000000,'rater-6b67e4c2c7e5bd8b','anchor','Canary-Alpha-7f3','Canary-Beta-9c1','model_a',NULL,'toys');
INSERT INTO "settled" VALUES(4,'rCi2Wvji0xCe18q20VW7cg','5c3902b3-8963-4c6e-8534-f45738d048ec',1700000024000000,'rater-299f416e11a2388f','battle','Canary-Gamma-2e8','Canary-Alpha-7f3','model_a',2,'toys');
INSERT INTO "settled" VALUES(5,'FHF6Zf1YIM8lOSQBJfB9VA','1b2ed40e-d3ad-4ccb-ac33-be0ac79d6793',1700000028000000,'rater-6b67e4c2c7e5bd8b','battle','Canary-Beta-9c1','Canary-Alpha-7f3','model_b',1,'toys');
INSERT INTO "settled" VALUES(6,'6ab6t1w3z9hYFv57k7Fu3g','06905269-ed6f-4b09-b165-c8ce36e2f24b',1700000032000000,'rater-299f416e11a2388f','battle','Canary-Beta-9c1','Canary-Alpha-7f3','both_good',1,'toys');
INSERT INTO "settled" VALUES(7,'KCxCb5k5M5KOj6OXCCRC7Q','3fb62d2c-8186-4fc9-a34f-806fabf4a07c',1700000044000000,'rater-6b67e4c2c7e5bd8b','battle','Canary-Gamma-2e8','Canary-Alpha-7f3','model_b',2,'toys');
INSERT INTO "settled" VALUES(8,'ANOiPVakWQ-sE2nKID0YYQ','16df6486-47ad-4c26-b93d-0e453f508249',1700000048000000,'rater-299f416e11a2388f','battle','Canary-Alpha-7f3','Canary-Beta-9c1','both_good',2,'toys');
INSERT INTO "settled" VALUES(9,'0hI9Tba6h6NaFu96-EDVaw','e8abb93f-01d8-4a02-8cdc-e7a6d7288ff6',1700000052000000,'rater-6b67e4c2c7e5bd8b','battle','Canary-Beta-9c1','Canary-Gamma-2e8','model_a',1,'toys');
INSERT INTO "settled" VALUES(10,'MMQhdVFgzwIvfZAFAuo6IQ','4fcfa583-e1df-4af9-b474-c7e89286a175',1700000056000000,'rater-299f416e11a2388f','battle','Canary-Alpha-7f3','Canary-Gamma-2e8','both_good',2,'toys');
INSERT INTO "settled" VALUES(11,'d8TlesRsFBlk40CwUSv0ig','995253fd-6c79-43de-a9f8-5e3131f3b923',1700000060000000,'rater-6b67e4c2c7e5bd8b','battle','Canary-Alpha-7f3','Canary-Beta-9c1','model_b',1,'toys');
INSERT INTO "settled" VALUES(12,'k6q4ZLE7TD4XwfCq5oNTVA','3bb4a570-294c-4ea3-b38d-243a6e58d5ca',1700000064000000,'rater-299f416e11a2388f','battle','Canary-Beta-9c1','Canary-Gamma-2e8','model_b',1,'toys');
INSERT INTO "settled" VALUES(13,'RAW7FADmwS2ExpqnjyQaSg','0b11ad28-cc21-4e88-9006-0cc54278c261',1700000075000000,'rater-6b67e4c2c7e5bd8b','battle','Canary-Alpha-7f3','Canary-Gamma-2e8','model_b',2,'toys');
INSERT INTO "settled" VALUES(14,'j9YFFEV7rqmbf1oWqlBi_Q','ff5a52f1-a058-45ac-b671-863c0bdbc23a',1700000075000000,'rater-299f416e11a2388f','battle','Canary-Beta-9c1','Canary-Alpha-7f3','model_b',2,'toys');
CREATE INDEX assignments_by_state ON assignments (state, answered_at);
CREATE INDEX assignments_of_a_rater ON assignments (rater_id, state);
CREATE INDEX settled_of_a_rater ON settled (rater_id);
CREATE TRIGGER no_UPDATE_of_answers BEFORE UPDATE ON answers BEGIN SELECT RAISE(ABORT, 'answers is insert-only'); END;
CREATE TRIGGER no_DELETE_of_answers BEFORE DELETE ON answers BEGIN SELECT RAISE(ABORT, 'answers is insert-only'); END;
CREATE TRIGGER no_UPDATE_of_settled BEFORE UPDATE ON settled BEGIN SELECT RAISE(ABORT, 'settled is insert-only'); END;
CREATE TRIGGER no_DELETE_of_settled BEFORE DELETE ON settled BEGIN SELECT RAISE(ABORT, 'settled is insert-only'); END;
CREATE TRIGGER no_UPDATE_of_admin_log BEFORE UPDATE ON admin_log BEGIN SELECT RAISE(ABORT, 'admin_log is insert-only'); END;
CREATE TRIGGER no_DELETE_of_admin_log BEFORE DELETE ON admin_log BEGIN SELECT RAISE(ABORT, 'admin_log is insert-only'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('answers',18);
INSERT INTO "sqlite_sequence" VALUES('settled',14);
COMMIT;
